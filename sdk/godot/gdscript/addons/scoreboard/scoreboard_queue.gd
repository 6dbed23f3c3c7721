class_name ScoreboardQueue
extends Node
## Keeps increments in a file while the server cannot be reached, and sends them in order.
##
## An increment is deleted only after it was counted or rejected, and has an event id, so that it counts
## once even if it is sent again after the game was closed. Add the queue to the scene: it sends at once.

## An increment was counted.
signal sent(increment: Dictionary, receipt: Dictionary)
## An increment will never be counted, such as one beyond the board's limits. It is deleted.
signal rejected(increment: Dictionary, error: Dictionary)
## The queue waits, and tries again.
signal waiting(error: Dictionary)

signal _added

const MAX_WAIT := 30.0
## The server recognises a repeat for at least 25 days (ledger.window).
const MAX_AGE := 25 * 24 * 3600
const MAX_CLOCK_STEP := 3600
const MAX_LINES := 200

## Sends the increments.
@export var scoreboard: Scoreboard
## The file.
@export var path := "user://scoreboard.queue"
## Increments that wait at most.
@export var max_events := 10000

var _queued: Array[Dictionary] = []  # {"increment", "at": when it was first sent, or 0}
var _file: FileAccess
var _lines := 0


func _ready() -> void:
	_load()
	_run.call_deferred()


## Stores an increment and returns its event id, or "" if the queue is full or the file cannot be
## written. An event id that waits already is kept once.
func add(increment: Dictionary) -> String:
	var kept := increment.duplicate()
	if not kept.get("event_id"):
		kept["event_id"] = Scoreboard.new_event_id()
	for each in _queued:
		var known: Dictionary = each["increment"]
		if known["user_id"] == kept["user_id"] and known["event_id"] == kept["event_id"]:
			return kept["event_id"] if known == kept else ""
	if _queued.size() >= max_events or not _append({"increment": kept, "at": 0}):
		return ""
	_queued.append({"increment": kept, "at": 0})
	_added.emit()
	return kept["event_id"]


## The number of increments that wait.
func size() -> int:
	return _queued.size()


func _run() -> void:
	var failures := 0
	while is_inside_tree():
		if _queued.is_empty():
			await _added
			continue
		var error := await _send_first()
		if error.is_empty():
			failures = 0
			continue
		waiting.emit(error)
		var wait := randf() * minf(0.2 * pow(2.0, failures), MAX_WAIT)
		failures += 1
		await scoreboard.pause(maxf(wait, error.get("retry_after", 0.0)))


## Sends the first increment, and returns the error after which to wait, or {}.
func _send_first() -> Dictionary:
	var first := _queued[0]
	var increment: Dictionary = first["increment"]
	var now := int(Time.get_unix_time_from_system())
	if first["at"] == 0:
		if not _append({"sent": now}):
			return {"error_code": "unavailable", "message": "the queue cannot be written"}
		first["at"] = now
	var age: int = now - first["at"]
	var result := {"error_code": "gone", "message": "first sent too long ago", "temporary": false}
	if age <= MAX_AGE and age >= -MAX_CLOCK_STEP:
		result = await scoreboard.submit(increment)
	if Scoreboard.is_error(result):
		var code: String = result["error_code"]
		if result["temporary"] or code == "unauthorized" or code == "invalid_signature":
			return result
	_queued.pop_front()
	_append({"removed": 1})
	if Scoreboard.is_error(result):
		rejected.emit(increment, result)
	else:
		sent.emit(increment, result)
	if _lines > MAX_LINES + 2 * _queued.size():
		_compact()
	return {}


func _append(line: Dictionary) -> bool:
	if _file == null or not _write(_file, line):
		return false
	_lines += 1
	return true


static func _write(file: FileAccess, line: Dictionary) -> bool:
	file.store_line(JSON.stringify(line))
	file.flush()
	return file.get_error() == OK


## Reads the file: lines of increments that were added, first sent, and removed from the front. Half a line
## at its end is of an add that never returned.
func _load() -> void:
	var text := ""
	for name: String in [path, path + ".new"]:
		if text == "" and FileAccess.file_exists(name):
			text = FileAccess.get_file_as_string(name)
	var lines := text.split("\n")
	lines.resize(maxi(lines.size() - 1, 0))
	for line in lines:
		var parsed: Variant = Scoreboard.integers(JSON.parse_string(line))
		if not parsed is Dictionary:
			push_error("a line of %s is damaged: %s" % [path, line])
		elif parsed.has("increment"):
			_queued.append(parsed)
		elif parsed.has("sent") and not _queued.is_empty():
			_queued[0]["at"] = parsed["sent"]
		elif parsed.has("removed") and not _queued.is_empty():
			_queued.pop_front()
	_compact()


## Replaces the file by one with only what waits.
func _compact() -> void:
	var fresh := FileAccess.open(path + ".new", FileAccess.WRITE)
	if fresh == null:
		push_error("cannot write %s: %s" % [path, error_string(FileAccess.get_open_error())])
		return
	for each in _queued:
		if not _write(fresh, each):
			return
	fresh.close()
	if _file != null:
		_file.close()
	var name := ProjectSettings.globalize_path(path)
	DirAccess.rename_absolute(name + ".new", name)
	_file = FileAccess.open(path, FileAccess.READ_WRITE)
	if _file != null:
		_file.seek_end()
	_lines = _queued.size()
