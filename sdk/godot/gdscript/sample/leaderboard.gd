extends VBoxContainer
## A live board. The token is the player's: your own server, or your identity provider, gives it to the
## game after the player has signed in.

@export var board := "global"

@onready var _scoreboard: Scoreboard = $Scoreboard
@onready var _queue: ScoreboardQueue = $Queue
@onready var _rows: VBoxContainer = $Rows
@onready var _status: Label = $Status


func _ready() -> void:
	var watch := _scoreboard.watch(board)
	watch.changed.connect(_show)
	watch.failed.connect(_fail)
	add_child(watch)
	_queue.rejected.connect(func(_increment: Dictionary, error: Dictionary) -> void: _fail(error))


## Call it when the player has won: the points are on disk when it returns.
func won(user_id: String, points: int, match_id: String) -> void:
	var increment := {"user_id": user_id, "delta": points, "event_id": match_id, "board": board}
	if _queue.add(increment) == "":
		_status.text = "the queue is full"


func _show(state: Dictionary) -> void:
	for row in _rows.get_children():
		row.queue_free()
	for entry: Dictionary in state["top"]:
		var row := Label.new()
		var name: String = entry.get("display_name", entry["user_id"])
		row.text = "%d.  %s  %d" % [entry["rank"], name, entry["score"]]
		if entry.has("subscore"):
			row.text += "  (%d)" % entry["subscore"]
		_rows.add_child(row)
	_status.text = "offline" if state["connection"] == "disconnected" else state["degraded"]


func _fail(error: Dictionary) -> void:
	_status.text = error["message"]
