package dialect

import (
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
)

// PlainStream is the format of GET /leaderboard/stream: the bare array of the rows when
// they change. Request ten rows. Four events come at most 500 ms apart, then the next
// ones wait, so that a minute has at most 20.
var PlainStream = &realtime.Format{
	Name: "plain", RowsOnly: true, Reached: true,
	Frames: 4, Span: 12 * time.Second, Interval: 500 * time.Millisecond,
	State: func(v *realtime.StateView) *realtime.Frame {
		return realtime.NewFrame("leaderboard", plainRows(v.Rows, v.Reached))
	},
}
