package dialect

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PlainStream is the format of GET /leaderboard/stream: the bare array of the rows when
// they change. Request ten rows. Four events come at most 500 ms apart, then the next
// ones wait, so that a minute has at most 20.
var PlainStream = &realtime.Format{
	Name: "plain", RowsOnly: true, Reached: true,
	Frames: 4, Span: 12 * time.Second, Interval: 500 * time.Millisecond,
	State: func(v *realtime.StateView) *realtime.Frame {
		return realtime.NewFrame("leaderboard", plainEntries(v.Rows, v.Reached))
	},
}

type plainEntry struct {
	UserID    plainUserID `json:"userId"`
	NickName  string      `json:"nickName"`
	Score     int64       `json:"score"`
	Rank      int64       `json:"rank"`
	UpdatedAt time.Time   `json:"updatedAt"` // when the score was reached
}

func plainEntries(rows []scoreboard.Entry, reached []time.Time) []plainEntry {
	entries := make([]plainEntry, len(rows))
	for i := range rows {
		e := &rows[i]
		entries[i] = plainEntry{
			UserID: plainUserID(e.User), NickName: username(e.User, e.Profile), Score: int64(e.Score), Rank: e.Rank,
			UpdatedAt: scoreboard.WritableTime(reached[i]),
		}
	}
	return entries
}

// plainUserID is a user id in JSON: a number where the id is one that every client reads
// exactly, a decimal integer below 2^53; otherwise a string.
type plainUserID scoreboard.UserID

const maxSafeInteger = 1<<53 - 1

// MarshalJSON implements [json.Marshaler].
func (id plainUserID) MarshalJSON() ([]byte, error) {
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err == nil && n <= maxSafeInteger && strconv.FormatUint(n, 10) == string(id) {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}
