package dialect

import (
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
)

// HighscoreStream is the format of GET /v1/ws/leaderboard: the rows when they change,
// and to the user's own connections the user's score and rank. Request ten rows.
var HighscoreStream = &realtime.Format{
	Name: "highscore", RowsOnly: true, ConnectionsPerUser: 5,
	State: func(v *realtime.StateView) *realtime.Message {
		return highscoreMessage("LEADERBOARD_UPDATE", highscoreChange{highscoreRows(v.Rows), v.TS})
	},
	Rank: func(v *realtime.RankView) *realtime.Message {
		gained := int64(0)
		if v.Previous != nil {
			gained = *v.Previous - v.Rank
		}
		return highscoreMessage("SCORE_UPDATE", highscoreMove{
			PlayerID: string(v.User), NewScore: int64(v.Score), NewRank: v.Rank, RankChange: fmt.Sprintf("%+d", gained),
		})
	},
}

func highscoreMessage(kind string, data any) *realtime.Message {
	return realtime.NewMessage(kind, struct {
		Type string `json:"type"`
		Data any    `json:"data"`
	}{kind, data})
}

type (
	// highscoreChange is the rows.
	highscoreChange struct {
		Entries   []highscoreRow `json:"entries"`
		UpdatedAt time.Time      `json:"updated_at"`
	}
	// highscoreMove is a player's new score and rank.
	highscoreMove struct {
		PlayerID   string `json:"player_id"`
		NewScore   int64  `json:"new_score"`   // in points
		NewRank    int64  `json:"new_rank"`    // from 1
		RankChange string `json:"rank_change"` // places gained, with a sign
	}
)
