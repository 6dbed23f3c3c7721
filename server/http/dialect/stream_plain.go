package dialect

import (
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
)

// PlainStream is the format of GET /leaderboard/stream: the bare array of the rows when
// they change. Request ten rows. At most one event comes in 500 ms, and at most 20 in a
// minute.
var PlainStream = &realtime.Format{
	Name: "plain", RowsOnly: true, Reached: true,
	Burst: 4, Interval: 500 * time.Millisecond, Refill: 3750 * time.Millisecond, // 4 + 16 in a minute
	State: func(v *realtime.StateView) *realtime.Message {
		return realtime.NewMessage("leaderboard", plainRows(v.Rows, v.Reached))
	},
}
