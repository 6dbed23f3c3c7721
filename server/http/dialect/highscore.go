package dialect

import (
	"net/http"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// highscore keeps the best score of each user and period. Every score is proven by an
// action token that was made for it.
type highscore struct{ board string }

func newHighscore(_ *Options, board string) *api.Dialect {
	h := &highscore{board}
	return &api.Dialect{
		Error: highscoreError, Actions: true,
		Routes: []api.DialectRoute{
			{
				Method: "POST", Path: "/v1/scores/update", Access: api.AccessWrite, Query: []string{},
				Handle: h.update,
			},
			{
				Method: "GET", Path: "/v1/leaderboard", Access: api.AccessTop, Public: true,
				Query: []string{"n", "cursor"}, Handle: h.top,
			},
			{Method: "GET", Path: "/v1/scores/me/rank", Access: api.AccessMe, Query: []string{"k"}, Handle: h.me},
			{
				Method: "GET", Path: "/v1/ws/leaderboard", Access: api.AccessStream, Query: []string{"token"},
				Stream: &api.DialectStream{
					Board: scoreboard.BoardID(board), Format: HighscoreStream, Rows: topRows, WebSocket: true,
					Token: api.BearerInQuery,
				},
			},
		},
	}
}

// success is the envelope of every 200.
type success struct {
	Success bool `json:"success"`
	Data    any  `json:"data"`
}

// failure is the envelope of every error.
type failure struct {
	Success bool           `json:"success"` // always false
	Error   highscoreFault `json:"error"`   // what is wrong
}

// highscoreFault is why a request was rejected.
type highscoreFault struct {
	Code      string `json:"code"`       // what is wrong, for programs, such as DUPLICATE_ACTION
	Message   string `json:"message"`    // what is wrong and what to do, for people; it may change
	RequestID string `json:"request_id"` // id of the request, as in the response header X-Request-Id
}

var highscoreFields = fields{"delta": "new_score", "event_id": "action_id"}

// highscoreError answers an error in the envelope. What an action token does not allow
// is a 403.
func highscoreError(status int, e *wire.Error) (int, any) {
	out := *e
	if status == http.StatusUnprocessableEntity &&
		(e.Field == "action_token" || e.Reason == string(wire.ReasonActionBounds)) {
		status, out.ErrorCode = http.StatusForbidden, string(wire.CodeForbidden)
	}
	highscoreFields.translate(&out)
	status = listed(status, &out)
	code := strings.ToUpper(out.ErrorCode)
	switch wire.Code(out.ErrorCode) {
	case wire.CodeEventConflict, wire.CodeTokenUsed:
		code = "DUPLICATE_ACTION"
	default:
	}
	return status, failure{Error: highscoreFault{code, out.Message, out.RequestID}}
}

// period is the name of a board or an instance without a colon.
func period(board scoreboard.BoardID) string { return strings.ReplaceAll(string(board), ":", "-") }

// highscoreUpdate is the result of a submitted score.
type highscoreUpdate struct {
	PlayerID      string    `json:"player_id"`
	LeaderboardID string    `json:"leaderboard_id"`
	Score         int64     `json:"score"`
	PreviousScore *int64    `json:"previous_score"`
	LastActionID  string    `json:"last_action_id"`
	Rank          int64     `json:"rank"`
	UpdateApplied bool      `json:"update_applied"`
	UpdatedAt     time.Time `json:"updated_at"`
}

// update is POST /v1/scores/update.
func (h *highscore) update(c *api.Call) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	w := api.Write{User: string(c.Caller.User), Board: h.board, Body: body, BoundToken: true}
	var given bool
	if err := protocol.DecodeFields(
		body, true,
		protocol.Field{Name: "action_id", To: &w.Event},
		protocol.Field{Name: "action_token", To: &w.ActionToken},
		protocol.Field{Name: "new_score", To: &w.Delta, Given: &given},
		protocol.Field{Name: "timestamp", To: &w.Timestamp},
	); err != nil {
		return err
	}
	key, err := c.Header("X-Idempotency-Key")
	switch {
	case err != nil:
		return err
	case !given:
		return scoreboard.Invalid("new_score", "new_score is required")
	case w.ActionToken == "":
		return scoreboard.Invalid("action_token", "action_token is required")
	case w.Timestamp == "":
		return scoreboard.Invalid("timestamp", "timestamp is required")
	case key != "" && key != w.Event:
		return scoreboard.Invalid("action_id", "action_id must equal the header X-Idempotency-Key")
	}
	receipt, err := c.Submit(&w)
	if err != nil {
		return err
	}
	out := highscoreUpdate{
		PlayerID: string(receipt.User), LeaderboardID: period(receipt.Board), Score: int64(receipt.NewScore),
		PreviousScore: (*int64)(receipt.Previous), LastActionID: w.Event, UpdatedAt: instant(receipt.RecordedAt),
		UpdateApplied: !receipt.Replayed && (receipt.Previous == nil || *receipt.Previous != receipt.NewScore),
	}
	if receipt.Rank != nil && !receipt.Replayed {
		out.Rank = *receipt.Rank
	} else {
		place, err := c.PlaceOf(receipt)
		if err != nil {
			return err
		}
		out.Score, out.Rank, out.UpdatedAt = int64(place.Score), place.Rank, instant(place.UpdatedAt)
	}
	c.Respond(success{true, out})
	return nil
}

// highscoreRow is a player on a board.
type highscoreRow struct {
	Rank      int64  `json:"rank"`
	PlayerID  string `json:"player_id"`
	Username  string `json:"username"`
	Score     int64  `json:"score"`
	AvatarURL string `json:"avatar_url,omitempty"`
}

func highscoreRows(entries []scoreboard.Entry) []highscoreRow {
	rows := make([]highscoreRow, len(entries))
	for i := range entries {
		e := &entries[i]
		rows[i] = highscoreRow{Rank: e.Rank, PlayerID: string(e.User), Username: name(e), Score: int64(e.Score)}
		if e.Profile != nil {
			rows[i].AvatarURL = e.Profile.AvatarURL
		}
	}
	return rows
}

// highscoreTop is the first rows of a board.
type highscoreTop struct {
	LeaderboardID string         `json:"leaderboard_id"`
	TopN          int            `json:"top_n"` // number of rows that were requested
	Entries       []highscoreRow `json:"entries"`
	// UpdatedAt is the time of the last change among these rows.
	UpdatedAt  time.Time `json:"updated_at"`
	NextCursor *string   `json:"next_cursor"`
	Degraded   bool      `json:"degraded"`
	BoardState string    `json:"board_state"`
}

// defaultRows and maxRows bound n of GET /v1/leaderboard.
const (
	defaultRows = 10
	maxRows     = 100
)

// top is GET /v1/leaderboard.
func (h *highscore) top(c *api.Call) error {
	n, err := c.QueryInt("n", defaultRows, 1, maxRows)
	if err != nil {
		return err
	}
	board, err := c.Board(h.board)
	if err != nil {
		return err
	}
	shape := func(top *scoreboard.Top) any {
		rows := first(top, n)
		return success{true, highscoreTop{
			period(top.Board), n, highscoreRows(rows), instant(top.UpdatedAt),
			optional(c.NextCursor(top, board, len(rows))), isDegraded(top.Degraded, top.State),
			boardState(top.Degraded, top.State),
		}}
	}
	if cursor := c.Query("cursor"); cursor != "" {
		page, err := c.Page(board, cursor, n)
		if err != nil {
			return err
		}
		c.Respond(shape(page))
		return nil
	}
	top, err := c.Top(board, 0)
	if err != nil {
		return err
	}
	c.RespondFirst(top, n, func() any { return shape(top) })
	return nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// isDegraded reports whether an answer comes from the store, for a reason, or from a ranking that may
// lack changes and is being rebuilt.
func isDegraded(reason string, state scoreboard.BoardState) bool {
	return reason != "" || state != scoreboard.StateHealthy
}

// boardState is HEALTHY or DEGRADED_REBUILDING.
func boardState(reason string, state scoreboard.BoardState) string {
	if isDegraded(reason, state) {
		return string(scoreboard.StateRebuilding)
	}
	return string(scoreboard.StateHealthy)
}

// highscoreNeighbour is a player near another.
type highscoreNeighbour struct {
	PlayerID string `json:"player_id"`
	Score    int64  `json:"score"`
	Rank     int64  `json:"rank"`
	Self     bool   `json:"self,omitempty"`
}

// highscorePlace is a player's place, with the players around it.
type highscorePlace struct {
	PlayerID   string  `json:"player_id"`
	Score      int64   `json:"score"`
	GlobalRank int64   `json:"global_rank"`
	Percentile float64 `json:"percentile"`
	// Neighbors are the players above and below, in the order of their ranks, with the
	// player among them.
	Neighbors  []highscoreNeighbour `json:"neighbors"`
	Degraded   bool                 `json:"degraded"`
	BoardState string               `json:"board_state"`
}

const (
	defaultNeighbours = 5
	maxNeighbours     = 50
)

// me is GET /v1/scores/me/rank.
func (h *highscore) me(c *api.Call) error {
	k, err := c.QueryInt("k", defaultNeighbours, 0, maxNeighbours)
	if err != nil {
		return err
	}
	board, err := c.Board(h.board)
	if err != nil {
		return err
	}
	place, err := c.OwnPlace(board, k)
	if err != nil {
		return err
	}
	neighbours := make([]highscoreNeighbour, 0, len(place.Neighbours)+1)
	for _, e := range place.Neighbours {
		neighbours = append(neighbours, highscoreNeighbour{
			string(e.User), int64(e.Score), e.Rank, e.User == place.User,
		})
	}
	if len(neighbours) == 0 { // k=0: the user alone
		neighbours = append(neighbours, highscoreNeighbour{string(place.User), int64(place.Score), place.Rank, true})
	}
	c.Respond(success{true, highscorePlace{
		string(place.User), int64(place.Score), place.Rank, place.Percentile(), neighbours,
		isDegraded(place.Degraded, place.State), boardState(place.Degraded, place.State),
	}})
	return nil
}
