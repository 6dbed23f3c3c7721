# NOT RUN: a starting point for a client in GDScript (Godot 4), without tests. It reads the top of a board,
# and submits through the game's own server: a secret never goes into a game that players have. Make the vectors
# of sdk/conformance pass before you rely on it.
class_name Scoreboard
extends Node

const TRIES := 5

var server: String # of scoreboard, such as "https://scores.example.com"
var backend: String # of the game: it decides what counts, signs and submits
var token: String # of the player

# top returns {"entries": [{"rank", "user_id", "score"}, ...], ...}, or {"error_code", "message"}.
func top(board: String, limit := 10) -> Dictionary:
	var path := "/v1/leaderboard/top?board=%s&limit=%d" % [board.uri_encode(), limit]
	return await _call(HTTPClient.METHOD_GET, server + path, "")

# report tells the backend what the player did. Keep event_id until it was answered: it counts once,
# however often it is sent.
func report(event_id: String, what: Dictionary) -> Dictionary:
	var body := what.merged({"event_id": event_id}, true)
	return await _call(HTTPClient.METHOD_POST, backend + "/hits", JSON.stringify(body))

func _call(method: HTTPClient.Method, url: String, body: String) -> Dictionary:
	var headers := PackedStringArray(["Authorization: Bearer " + token, "Content-Type: application/json"])
	var last := {"error_code": "unavailable", "message": "no response"}
	for n in TRIES:
		var request := HTTPRequest.new()
		request.timeout = 10.0
		request.max_redirects = 0 # another server must not get the token
		request.body_size_limit = 4 << 20
		add_child(request)
		var wait := 0.0
		if request.request(url, headers, method, body) == OK:
			var response: Array = await request.request_completed # result, status, headers, body
			var status: int = response[1]
			var parsed: Variant = JSON.parse_string(response[3].get_string_from_utf8())
			if parsed is Dictionary:
				last = parsed
			# Without a response the status is 0.
			if status >= 200 and status != 429 and status < 500 and parsed is Dictionary:
				request.queue_free()
				return last
			wait = _retry_after(response[2])
		request.queue_free()
		if n == TRIES - 1 or wait > 30.0:
			break
		await get_tree().create_timer(wait + randf() * minf(0.2 * pow(2, n), 5.0)).timeout
	return last

func _retry_after(headers: PackedStringArray) -> float:
	for header in headers:
		if header.to_lower().begins_with("retry-after:"):
			return maxf(header.get_slice(":", 1).strip_edges().to_float(), 0.0)
	return 0.0
