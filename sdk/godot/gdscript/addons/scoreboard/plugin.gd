@tool
extends EditorPlugin
## The add-on has only classes: Scoreboard, ScoreboardQueue and ScoreboardWatch.
