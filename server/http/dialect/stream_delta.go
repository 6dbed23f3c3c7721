package dialect

import (
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
)

// DeltaStream is the format of GET /v1/leaderboard/ws: the rows when they change.
// Request the default number of rows.
var DeltaStream = &realtime.Format{
	Name: "delta", RowsOnly: true, ConnectionsPerUser: 3,
	State: func(v *realtime.StateView) *realtime.Message {
		const kind = "leaderboard_update"
		return realtime.NewMessage(kind, deltaUpdate{kind, deltaRows(v.Rows), v.AsOf})
	},
}

// deltaUpdate is the rows, on connect and when they change.
type deltaUpdate struct {
	Type string     `json:"type"` // always leaderboard_update
	Top  []deltaRow `json:"top"`
	AsOf time.Time  `json:"asOf"`
}
