package dialect

import (
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// plain keeps the highest score of each user. A score that is not higher is answered
// with the stored one and leaves nothing behind.
type plain struct{ board string }

func newPlain(_ *Options, board string) *api.Dialect {
	p := &plain{board}
	return &api.Dialect{
		Error: fields{"user_id": "userId", "delta": "score", "event_id": "Idempotency-Key"}.nativeShape,
		Routes: []api.DialectRoute{
			{Method: "POST", Path: "/scores", Access: api.AccessWrite, Handle: p.submit},
			{Method: "GET", Path: "/leaderboard/top", Access: api.AccessTop, Handle: p.top},
			{Method: "GET", Path: "/leaderboard/:user_id", Access: api.AccessUser, Handle: p.user},
			{Method: "GET", Path: "/leaderboard/stream", Access: api.AccessStream, Stream: &api.DialectStream{
				Board: scoreboard.BoardID(board), Format: PlainStream, Rows: topRows,
			}},
		},
	}
}

// plainStanding is the standing of a user.
type plainStanding struct {
	UserID    numericID `json:"userId"`
	Score     int64     `json:"score"`
	Rank      int64     `json:"rank"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// plainRow is a user on the board.
type plainRow struct {
	UserID    numericID `json:"userId"`
	NickName  string    `json:"nickName"`
	Score     int64     `json:"score"`
	Rank      int64     `json:"rank"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// submit is POST /scores.
func (p *plain) submit(c *api.Call) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	var score int64
	var given bool
	if err := protocol.DecodeFields(body, false, protocol.Field{Name: "score", To: &score, Given: &given}); err != nil {
		return err
	}
	if !given {
		return scoreboard.Invalid("score", "score is required")
	}
	key, err := c.Header("Idempotency-Key")
	if err != nil {
		return err
	}
	w := api.Write{
		User: string(c.Caller.User), Board: p.board, Event: key, Delta: int64(score),
		OnlyIfBetter: true, Body: body,
	}
	if w.Event == "" {
		w.ServerEvent = scoreboard.NewEventID().Text
	}
	receipt, err := c.Submit(&w)
	if err != nil {
		return err
	}
	out := plainStanding{
		UserID: numericID(receipt.User), Score: int64(receipt.NewScore), UpdatedAt: instant(receipt.RecordedAt),
	}
	if receipt.Rank != nil && !receipt.Replayed {
		out.Rank = *receipt.Rank
		c.Respond(out)
		return nil
	}
	place, err := c.PlaceOf(receipt)
	if err != nil {
		return err
	}
	c.Respond(standingOf(place))
	return nil
}

func standingOf(p *scoreboard.Place) plainStanding {
	return plainStanding{numericID(p.User), int64(p.Score), p.Rank, instant(p.UpdatedAt)}
}

// top is GET /leaderboard/top.
func (p *plain) top(c *api.Call) error {
	board, err := c.Board(p.board)
	if err != nil {
		return err
	}
	top, err := c.Top(board, 0)
	if err != nil {
		return err
	}
	warn(c, top.Degraded, top.State)
	c.RespondFirst(top, topRows, func() any { return plainRows(first(top, topRows), top.Reached) })
	return nil
}

// plainRows are entries, each with the time at which its score was reached.
func plainRows(entries []scoreboard.Entry, reached []time.Time) []plainRow {
	rows := make([]plainRow, len(entries))
	for i := range entries {
		e := &entries[i]
		rows[i] = plainRow{numericID(e.User), name(e), int64(e.Score), e.Rank, instant(reached[i])}
	}
	return rows
}

// user is GET /leaderboard/{userId}.
func (p *plain) user(c *api.Call) error {
	user, err := c.Caller.UserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	board, err := c.Board(p.board)
	if err != nil {
		return err
	}
	place, err := c.Place(board, user, 0, 0)
	if err != nil {
		return err
	}
	warn(c, place.Degraded, place.State)
	c.Respond(standingOf(place))
	return nil
}

// warn marks a response that is not from a healthy ranking, or from one that may lack changes, or from
// the cache because the client is over its limit.
func warn(c *api.Call, degraded string, state scoreboard.BoardState) {
	switch {
	case degraded != "":
	case c.Stale():
		degraded = "rate_limited"
	case isDegraded(degraded, state):
		degraded = strings.ToLower(string(state))
	}
	if degraded != "" {
		c.SetHeader("Warning", `110 scoreboard "Response is Stale"`)
		c.SetHeader("X-Scoreboard-Degraded", degraded)
	}
}
