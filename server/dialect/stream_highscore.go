package dialect

import (
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// HighscoreStream is the format of GET /v1/ws/leaderboard: the rows when they change,
// and to the user's own connections the user's score and rank. Request ten rows.
var HighscoreStream = &realtime.Format{
	Name: "highscore", RowsOnly: true, ConnectionsPerUser: 5,
	State: func(v *realtime.StateView) *realtime.Frame {
		return highscoreFrame("LEADERBOARD_UPDATE", highscoreUpdate{highscoreEntries(v.Rows), v.TS})
	},
	Rank: func(v *realtime.RankView) *realtime.Frame {
		gained := int64(0)
		if v.Previous != nil {
			gained = *v.Previous - v.Rank
		}
		return highscoreFrame("SCORE_UPDATE", highscoreScore{
			PlayerID: string(v.User), NewScore: int64(v.Score), NewRank: v.Rank, RankChange: fmt.Sprintf("%+d", gained),
		})
	},
}

func highscoreFrame(kind string, data any) *realtime.Frame {
	return realtime.NewFrame(kind, struct {
		Type string `json:"type"`
		Data any    `json:"data"`
	}{kind, data})
}

type (
	highscoreUpdate struct {
		Entries   []highscoreEntry `json:"entries"`
		UpdatedAt time.Time        `json:"updated_at"`
	}
	highscoreScore struct {
		PlayerID   string `json:"player_id"`
		NewScore   int64  `json:"new_score"`
		NewRank    int64  `json:"new_rank"`
		RankChange string `json:"rank_change"` // places gained, with a sign
	}
	highscoreEntry struct {
		Rank      int64  `json:"rank"`
		PlayerID  string `json:"player_id"`
		Username  string `json:"username"`
		Score     int64  `json:"score"`
		AvatarURL string `json:"avatar_url,omitempty"`
	}
)

func highscoreEntries(rows []scoreboard.Entry) []highscoreEntry {
	entries := make([]highscoreEntry, len(rows))
	for i := range rows {
		e := &rows[i]
		entries[i] = highscoreEntry{
			Rank: e.Rank, PlayerID: string(e.User), Username: username(e.User, e.Profile), Score: int64(e.Score),
		}
		if e.Profile != nil {
			entries[i].AvatarURL = e.Profile.AvatarURL
		}
	}
	return entries
}

// username is how the dialects name a user: the display name, or the id if there is none.
func username(user scoreboard.UserID, p *scoreboard.Profile) string {
	if p == nil || p.DisplayName == "" {
		return string(user)
	}
	return p.DisplayName
}
