package dialect

import (
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// DeltaStream is the format of GET /v1/leaderboard/ws: the rows when they change.
// Request the default number of rows.
var DeltaStream = &realtime.Format{
	Name: "delta", RowsOnly: true, ConnectionsPerUser: 3,
	State: func(v *realtime.StateView) *realtime.Frame {
		const kind = "leaderboard_update"
		return realtime.NewFrame(kind, deltaUpdate{kind, deltaEntries(v.Rows), v.AsOf})
	},
}

type (
	deltaUpdate struct {
		Type string       `json:"type"`
		Top  []deltaEntry `json:"top"`
		AsOf time.Time    `json:"asOf"`
	}
	deltaEntry struct {
		Rank     int64  `json:"rank"`
		UserID   string `json:"userId"`
		Username string `json:"username"`
		Score    int64  `json:"score"`
	}
)

func deltaEntries(rows []scoreboard.Entry) []deltaEntry {
	entries := make([]deltaEntry, len(rows))
	for i := range rows {
		e := &rows[i]
		entries[i] = deltaEntry{
			Rank: e.Rank, UserID: string(e.User), Username: username(e.User, e.Profile), Score: int64(e.Score),
		}
	}
	return entries
}
