class_name Scoreboard
extends Node
## A client of one scoreboard server: it submits increments, and reads boards and standings.
##
## A call returns the server's response as a Dictionary with the API's fields, or an error: a Dictionary
## with error_code, message, status, temporary, event_id and retry_after (seconds). See is_error.

## Recorded in the server's audit trail. A page cannot send it.
const USER_AGENT := "scoreboard-godot/1.0.0"
const TRIES := 5
const TRY_SECONDS := 10.0
const MAX_RETRY_AFTER := 30.0
## The longest wait that a server can ask for, in seconds: a queue would wait for years.
const LONGEST_RETRY_AFTER := 86400.0
const MAX_RESPONSE := 4 << 20
const QUEUED_MSEC := 30000

const CODES := {
	401: "unauthorized",
	403: "forbidden",
	404: "not_found",
	429: "rate_limited",
	502: "unavailable",
	503: "unavailable",
	504: "unavailable",
}

const MONTHS := ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

## Address of the server, such as "https://scores.example.com".
@export var server := ""
## The player's bearer token. Set it again before it expires.
@export var token := ""
## Id and secret of a signing key. They belong on a server: whoever has the game can read them.
var key_id := ""
var key_secret := ""
## Allows a key in the game, such as for a test on your own machine.
var allow_key_in_client := false


## Whether a result is an error.
static func is_error(result: Dictionary) -> bool:
	return result.has("error_code")


## A new event id: a UUID of version 7, which sorts by time.
static func new_event_id() -> String:
	var random := Crypto.new().generate_random_bytes(10)
	random[0] = (random[0] & 0x0f) | 0x70
	random[2] = (random[2] & 0x3f) | 0x80
	var time := "%012x" % int(Time.get_unix_time_from_system() * 1000.0)
	var digits := time + random.hex_encode()
	var parts := [
		digits.substr(0, 8),
		digits.substr(8, 4),
		digits.substr(12, 4),
		digits.substr(16, 4),
		digits.substr(20),
	]
	return "-".join(PackedStringArray(parts))


## Counts an increment and returns its receipt. increment has user_id and delta and, where needed,
## event_id, board, action, action_token, attestation, attributes, if_period, metadata and subscore. Each try
## has the same event id, so it counts once. If it fails, submit it again with the event_id of the error.
func submit(increment: Dictionary) -> Dictionary:
	var sent := increment.duplicate()
	if not sent.get("event_id"):
		sent["event_id"] = new_event_id()
	var result := await request(HTTPClient.METHOD_POST, "/v1/scores/increment", sent)
	if not is_error(result) and result.get("status") == "pending":
		result = await _outcome(sent)
	if not is_error(result) and not result.get("processed_event_id"):
		result = _error("unavailable", "the server's response contains no receipt", 0)
	if is_error(result):
		result["event_id"] = sent["event_id"]
	return result


## Starts an action. The increment that ends it carries its action_token.
func start_action(action: Dictionary) -> Dictionary:
	return await request(HTTPClient.METHOD_POST, "/v1/actions", action)


## Reads the top of a board: {"entries": [{"rank", "user_id", "score"}, ...], ...}, with "subscore" on a
## board that has them. With cursor, the next_cursor of a page, it reads the next.
func top(board := "global", limit := 10, cursor := "") -> Dictionary:
	var query := {"board": board, "limit": limit, "cursor": cursor}
	return await request(HTTPClient.METHOD_GET, "/v1/leaderboard/top" + query_of(query), null)


## Reads the player's own standing, with rows above and below.
func me(board := "global", neighbours := 0) -> Dictionary:
	var query := {"board": board, "k": neighbours}
	return await request(HTTPClient.METHOD_GET, "/v1/leaderboard/me" + query_of(query), null)


## Reads the standings of the player and the player's friends.
func friends(board := "global") -> Dictionary:
	var path := "/v1/leaderboard/friends" + query_of({"board": board})
	return await request(HTTPClient.METHOD_GET, path, null)


## Joins a period of a board that requires it; the name of a board means its next period that can be joined. A
## repeat changes nothing. Fails with tournament_full and join_closed.
func join_board(board: String) -> Dictionary:
	return await request(HTTPClient.METHOD_POST, join_path(board), null)


## Leaves a period that has not begun; the name of a board means the next one.
func leave_board(board: String) -> Dictionary:
	return await request(HTTPClient.METHOD_DELETE, join_path(board), null)


## Reads how many have joined a period: {"board", "starts_at", "players", "max_players", "joined", ...}.
func participation(board: String) -> Dictionary:
	return await request(HTTPClient.METHOD_GET, join_path(board), null)


## Reads the player's rewards, newest first: {"rewards": [{"id", "board", "rank", "reward", "state"}, ...]}.
## state is claimable, claimed, revoked or expired; before is next_before of the page before.
func rewards(state := "", before := 0) -> Dictionary:
	var query := {"state": state, "before": str(before) if before > 0 else ""}
	return await request(HTTPClient.METHOD_GET, "/v1/users/me/rewards" + query_of(query), null)


## Claims a reward of the player. A repeat returns the same, so give out the reward once for each id.
func claim(id: int) -> Dictionary:
	return await request(HTTPClient.METHOD_POST, "/v1/users/me/rewards/%d/claim" % id, null)


## Reads the player's place in a league: {"division", "cohort", "rank", "players", "zone", ...}, with k
## neighbours on each side.
func league(board: String, k := 0) -> Dictionary:
	var query := {"k": str(k) if k > 0 else ""}
	return await request(
		HTTPClient.METHOD_GET, "/v1/leagues/" + board.uri_encode() + "/me" + query_of(query), null
	)


## Reads the standings of a cohort of a league, best first.
func cohort(board: String, id: int) -> Dictionary:
	return await request(HTTPClient.METHOD_GET, "/v1/leagues/%s/cohorts/%d" % [board.uri_encode(), id], null)


## Reads what the ends of periods have decided about the player, newest first; before is next_before of
## the page before.
func league_history(before := 0) -> Dictionary:
	var query := {"before": str(before) if before > 0 else ""}
	return await request(HTTPClient.METHOD_GET, "/v1/users/me/leagues" + query_of(query), null)


## Looks up an event of the player by its id.
func receipt(event_id: String) -> Dictionary:
	return await request(HTTPClient.METHOD_GET, "/v1/events/" + event_id.uri_encode(), null)


## Follows a board. Add the watch to the scene; free it to end it.
func watch(board := "global", limit := 10) -> ScoreboardWatch:
	var watching := ScoreboardWatch.new()
	watching.scoreboard = self
	watching.board = board
	watching.limit = limit
	return watching


static func join_path(board: String) -> String:
	return "/v1/boards/" + board.uri_encode() + "/join"


## A query, escaped, without empty values.
static func query_of(values: Dictionary) -> String:
	var parts := PackedStringArray()
	for name: String in values:
		var text := str(values[name])
		if text != "":
			parts.append(name + "=" + text.uri_encode())
	return "?" + "&".join(parts)


## Makes a call of the API, with retries. path has its query.
func request(method: HTTPClient.Method, path: String, body: Variant, tries := TRIES) -> Dictionary:
	if key_secret != "" and not allow_key_in_client:
		return _error("invalid_request", "a key secret in a game: set allow_key_in_client", 0)
	var result := {}
	for n in tries:
		result = await _try(method, path, body)
		var wait: float = result.get("retry_after", 0.0)
		if not is_error(result) or not result.get("temporary") or wait > MAX_RETRY_AFTER:
			break
		if n < tries - 1:
			await pause(wait + randf() * minf(0.2 * pow(2.0, n), 5.0))
	return result


## Waits for a time, in seconds, also while the game is paused.
func pause(seconds: float) -> void:
	await get_tree().create_timer(seconds, true, false, true).timeout


func _outcome(sent: Dictionary) -> Dictionary:
	var query := query_of({"user_id": sent["user_id"]})
	var path: String = "/v1/events/" + str(sent["event_id"]).uri_encode() + query
	var end := Time.get_ticks_msec() + QUEUED_MSEC
	var wait := 0.05
	while true:
		var result := await request(HTTPClient.METHOD_GET, path, null)
		var later: bool = result.get("temporary", false) or result.get("error_code") == "not_found"
		if not later and result.get("status") != "pending":
			return _first(result)
		if Time.get_ticks_msec() + int(wait * 1000.0) > end:
			break
		await pause(wait)
		wait = minf(2.0 * wait, 2.0)
	return _error("unavailable", "the increment is accepted, but not counted yet", 202)


## The receipt of an event on several boards is that of global, or else the first; matched has the others.
func _first(result: Dictionary) -> Dictionary:
	if is_error(result) or not result.has("receipts"):
		return result
	var receipts: Array = result["receipts"].duplicate()
	if receipts.is_empty():
		return {}
	var at := 0
	for n in receipts.size():
		if receipts[n].get("board") == "global":
			at = n
	var first: Dictionary = receipts.pop_at(at)
	first["matched"] = receipts
	return first


func _try(method: HTTPClient.Method, path: String, body: Variant) -> Dictionary:
	var text := ""
	if body is Dictionary:
		var sent: Dictionary = body.duplicate()
		if path == "/v1/scores/increment":
			var now := int(Time.get_unix_time_from_system())
			sent["timestamp"] = Time.get_datetime_string_from_unix_time(now) + "Z"
		text = JSON.stringify(sent)
	var http := HTTPRequest.new()
	http.timeout = TRY_SECONDS
	http.max_redirects = 0  # another server must not get the token
	http.body_size_limit = MAX_RESPONSE
	add_child(http)
	var result := _error("unavailable", "the request cannot be sent", 0)
	if http.request(server + path, _headers(method, path, text), method, text) == OK:
		var response: Array = await http.request_completed
		result = _read(response[0], response[1], response[2], response[3])
	http.queue_free()
	return result


func _headers(method: HTTPClient.Method, path: String, text: String) -> PackedStringArray:
	var headers := PackedStringArray(["Accept: application/json"])
	if not OS.has_feature("web"):
		headers.append("User-Agent: " + USER_AGENT)
	if token != "":
		headers.append("Authorization: Bearer " + token)
	if text != "":
		headers.append("Content-Type: application/json")
	if key_secret != "" and path == "/v1/scores/increment":
		var now := str(int(Time.get_unix_time_from_system()))
		var name := "POST" if method == HTTPClient.METHOD_POST else "GET"
		var parts := PackedStringArray([name, path, key_id, now, text.sha256_text()])
		var hash_type := HashingContext.HASH_SHA256
		var key := key_secret.to_utf8_buffer()
		var mac := Crypto.new().hmac_digest(hash_type, key, "\n".join(parts).to_utf8_buffer())
		headers.append("X-Scoreboard-Key: " + key_id)
		headers.append("X-Scoreboard-Timestamp: " + now)
		headers.append("X-Scoreboard-Signature: v1=" + mac.hex_encode())
	return headers


func _read(outcome: int, status: int, headers: PackedStringArray, body: PackedByteArray) -> Dictionary:
	# A redirect is not followed, and an answer like any other.
	var answered := outcome == HTTPRequest.RESULT_REDIRECT_LIMIT_REACHED
	if outcome != HTTPRequest.RESULT_SUCCESS and not answered:
		return _error("unavailable", "no response (%d)" % outcome, 0)
	var parsed: Variant = JSON.parse_string(body.get_string_from_utf8())
	if status >= 200 and status < 300:
		if parsed is Dictionary:
			return integers(parsed)
		return _error("unavailable", "the response is not of this API", 0)
	var code: String = CODES.get(status, "invalid_request" if status < 500 else "internal")
	var result := _error(code, "unexpected response %d, not from this API" % status, status)
	if parsed is Dictionary and parsed.get("error_code"):
		result = _error(parsed["error_code"], parsed.get("message", ""), status)
		result.merge(integers(parsed))
	result["retry_after"] = _retry_after(headers)
	return result


func _error(code: String, message: String, status: int) -> Dictionary:
	var may_pass := ["rate_limited", "overloaded", "unavailable", "internal"]
	return {
		"error_code": code,
		"message": message,
		"status": status,
		"temporary": status >= 500 or code in may_pass,
		"retry_after": 0.0,
	}


func _retry_after(headers: PackedStringArray) -> float:
	for header in headers:
		if header.to_lower().begins_with("retry-after:"):
			var text := header.substr(header.find(":") + 1).strip_edges()
			if text.is_valid_int():
				return clampf(text.to_float(), 0.0, LONGEST_RETRY_AFTER)
			return clampf(_date(text) - Time.get_unix_time_from_system(), 0.0, LONGEST_RETRY_AFTER)
	return 0.0


## Seconds since 1970 of a date of HTTP, such as "Sat, 01 Jan 2000 00:00:30 GMT"; 0 if it is none.
static func _date(text: String) -> float:
	var parts := text.split(" ")
	if parts.size() != 6 or not MONTHS.has(parts[2]):
		return 0.0
	var date := "%s-%02d-%sT%s" % [parts[3], MONTHS.find(parts[2]) + 1, parts[1], parts[4]]
	return float(Time.get_unix_time_from_datetime_string(date))


## A JSON value with whole numbers as integers; Godot reads all numbers as floats.
static func integers(value: Variant) -> Variant:
	if value is float and value == floorf(value) and absf(value) <= 9007199254740991.0:
		return int(value)
	if value is Array:
		return value.map(integers)
	if value is Dictionary:
		var fields := {}
		for name: String in value:
			fields[name] = integers(value[name])
		return fields
	return value
