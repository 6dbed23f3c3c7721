class_name ScoreboardWatch
extends Node
## Follows a board: over a WebSocket or, where there is none, by polling. It reconnects by itself.

## The board has changed, or how it is followed. state has board, top, epoch, version, degraded (why the
## rows may be incomplete, or ""), connection ("ws", "polling" or "disconnected"), me, the player's own
## latest change, and tier, the latest change of the player's tier, with tier and previous_tier ("" for none).
signal changed(state: Dictionary)
## The server has rejected this client permanently: its token, its scope or the board. The watch has ended.
signal failed(error: Dictionary)

signal _ended

const SILENCE_MSEC := 75000
const OPENING_MSEC := 10000
const ACCEPT_LOWER_MSEC := 5000
const POLL_FOR_MSEC := 5000
const POLL_FOR_MAX_MSEC := 60000

## Reads with its server and token.
var scoreboard: Scoreboard
var board := "global"
## 10 or 100 rows.
var limit := 10
## The latest state.
var state := {
	"board": "",
	"top": [],
	"epoch": 0,
	"version": 0,
	"degraded": "",
	"connection": "disconnected",
	"me": {},
	"tier": {},
}

var _socket: WebSocketPeer
var _synced := false
var _received := false
var _heard := 0
var _reconnect_after := -1.0
var _lower_since := -1
var _moved := {"version": 0, "epoch": 0}
var _tiered := {"version": 0, "epoch": 0}
var _confirmed := 0
var _left := false


func _ready() -> void:
	_run.call_deferred()


func _exit_tree() -> void:
	_left = true
	if _socket != null:
		_socket.close()
	_socket = null
	_ended.emit()


func _process(_delta: float) -> void:
	if _socket == null:
		return
	_socket.poll()
	while _socket != null and _socket.get_available_packet_count() > 0:
		_message(_socket.get_packet().get_string_from_utf8())
	if _socket == null:
		return
	var silent := Time.get_ticks_msec() - _heard
	var opening := _socket.get_ready_state() == WebSocketPeer.STATE_CONNECTING
	if _socket.get_ready_state() == WebSocketPeer.STATE_CLOSED:
		_end()
	elif silent > (OPENING_MSEC if opening else SILENCE_MSEC):
		_end()
	elif not opening and silent > SILENCE_MSEC / 3.0 and _confirmed < _heard:
		# Pings are not shown to programs. Subscribing again is answered.
		_confirmed = Time.get_ticks_msec()
		for type: String in ["unsubscribe", "subscribe"]:
			_socket.send_text(JSON.stringify({"type": type, "board": board}))


func _run() -> void:
	var failures := 0
	var poll_for := POLL_FOR_MSEC
	while not _left:
		_received = false
		await _follow()
		if _left:
			return
		if state["connection"] != "polling":
			_show({"connection": "disconnected"})
		if _received:
			failures = 0
			poll_for = POLL_FOR_MSEC
		var wait := _reconnect_after
		if wait < 0.0:
			wait = randf() * minf(0.2 * pow(2.0, failures), 5.0)
		_reconnect_after = -1.0
		failures += 1
		await scoreboard.pause(wait)
		if _received:
			continue
		if not await _poll(poll_for):
			return
		poll_for = mini(2 * poll_for, POLL_FOR_MAX_MSEC)


## Follows the board over one WebSocket until it ends.
func _follow() -> void:
	var query := {"board": board, "limit": limit}
	if _synced and state["degraded"] == "":
		query["last_event_id"] = "%d:%d" % [state["epoch"], state["version"]]
	if scoreboard.token != "":
		var path := "/v1/realtime/token" + Scoreboard.query_of({"board": board})
		var ticket := await scoreboard.request(HTTPClient.METHOD_GET, path, null, 1)
		if Scoreboard.is_error(ticket) or _left:
			return
		query["token"] = ticket["token"]
	var url := scoreboard.server + "/v1/realtime/leaderboard" + Scoreboard.query_of(query)
	_socket = WebSocketPeer.new()
	_socket.inbound_buffer_size = 1 << 20
	_heard = Time.get_ticks_msec()
	_confirmed = _heard - 1
	if _socket.connect_to_url("ws" + url.trim_prefix("http")) == OK:
		await _ended
	_socket = null


func _end() -> void:
	if _socket != null:
		_socket.close()
	_socket = null
	_ended.emit()


func _message(text: String) -> void:
	var frame: Variant = Scoreboard.integers(JSON.parse_string(text))
	if not frame is Dictionary:
		_end()
		return
	_heard = Time.get_ticks_msec()
	_confirmed = _heard - 1
	match frame.get("type"):
		"leaderboard.updated":
			_received = true
			_snapshot(frame)
		"user.rank.updated":
			_received = true
			if _advance(_moved, frame):
				_show({"me": frame})
		"user.tier.updated":
			_received = true
			if _advance(_tiered, frame):
				frame.merge({"tier": "", "previous_tier": ""})
				_show({"tier": frame})
		"bye":
			var after: float = frame.get("reconnect_after_ms", 0) / 1000.0
			_reconnect_after = clampf(after, 0.2, 30.0)
			_end()
		"error":
			_end()
		_:
			_received = true  # of a newer protocol


## Applies all rows, unless they are older than those shown.
func _snapshot(frame: Dictionary) -> void:
	var epoch: int = frame.get("epoch", 0)
	var version: int = frame.get("version", 0)
	if epoch < state["epoch"]:
		# Only after a while without another: the server's data was replaced.
		if _lower_since < 0:
			_lower_since = _heard
		if _heard - _lower_since < ACCEPT_LOWER_MSEC:
			return
		_moved = {"version": 0, "epoch": 0}
		_tiered = {"version": 0, "epoch": 0}
	elif epoch == state["epoch"] and version < state["version"]:
		return
	_lower_since = -1
	_synced = true
	var rows: Array = frame.get("top", [])
	_rows(frame, rows, "ws", {"epoch": epoch, "version": version})


func _rows(from: Dictionary, rows: Array, connection: String, more: Dictionary) -> void:
	var degraded: String = from.get("degraded_reason", "")
	if degraded == "" and from.get("degraded", false):
		degraded = "unknown"
	if degraded == "" and from.get("board_state", "HEALTHY") != "HEALTHY":  # rows may lack changes
		degraded = from["board_state"].to_lower()
	more.merge({"board": from["board"], "top": rows, "degraded": degraded, "connection": connection})
	_show(more)


## Moves to a message about the player. Returns false if it is older than the one before.
func _advance(to: Dictionary, frame: Dictionary) -> bool:
	var epoch: int = frame.get("epoch", 0)
	var version: int = frame.get("version", 0)
	if version < to["version"] and epoch <= to["epoch"]:
		return false
	to["version"] = version
	to["epoch"] = epoch
	return true


func _show(fields: Dictionary) -> void:
	state = state.duplicate()
	state.merge(fields, true)
	changed.emit(state)


## Polls for about a time, while streams do not work. Returns false if the watch has ended.
func _poll(duration: int) -> bool:
	var end := Time.get_ticks_msec() + duration
	var failed_before := false
	while not _left:
		var path := "/v1/leaderboard/top" + Scoreboard.query_of({"board": board, "limit": limit})
		var page := await scoreboard.request(HTTPClient.METHOD_GET, path, null, 1)
		if _left:
			return false
		var wait := randf_range(1.0, 3.0)
		if Scoreboard.is_error(page):
			if page["status"] in [401, 403, 404]:
				failed.emit(page)
				return false
			_show({"connection": "disconnected"})
			failed_before = true
			wait = maxf(wait, page.get("retry_after", 0.0))
		else:
			_polled(page)
			if failed_before or Time.get_ticks_msec() + int(wait * 1000.0) > end:
				return true
		await scoreboard.pause(wait)
	return false


func _polled(page: Dictionary) -> void:
	# A degraded response has no version.
	if page.get("epoch") == null or page.get("version") == null:
		_rows(page, page["entries"], "polling", {})
		return
	var older: bool = page["epoch"] == state["epoch"] and page["version"] < state["version"]
	if older or page["epoch"] < state["epoch"]:
		return
	var more := {"epoch": page["epoch"], "version": page["version"]}
	_synced = true
	_rows(page, page["entries"], "polling", more)
