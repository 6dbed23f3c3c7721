package dialect

import (
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// delta adds to scores, for users and for servers that may act for all of them.
type delta struct{ board string }

func newDelta(_ *Options, board string) *api.Dialect {
	d := &delta{board}
	return &api.Dialect{
		Error: deltaError, TraceKey: "traceId",
		Attestation: &auth.AttestationForm{
			User: "userId", Delta: "scoreDelta", Event: "actionId", Action: "action", Board: scoreboard.BoardID(board),
			Vouches: true,
		},
		Routes: []api.DialectRoute{
			{Method: "POST", Path: "/v1/score/update", Access: api.AccessWrite, Handle: d.update},
			{Method: "GET", Path: "/v1/leaderboard/top", Access: api.AccessTop, Public: true, Handle: d.top},
			{Method: "GET", Path: "/v1/users/:user_id/score", Access: api.AccessUser, Handle: d.score},
			{Method: "POST", Path: "/v1/leaderboard/ws-token", Access: api.AccessTicket, Handle: d.token},
			{Method: "GET", Path: "/v1/leaderboard/ws", Access: api.AccessStream, Stream: &api.DialectStream{
				Board: scoreboard.BoardID(board), Format: DeltaStream, WebSocket: true, Token: api.StreamTokenInQuery,
			}},
		},
	}
}

var deltaFields = fields{
	"user_id": "userId", "delta": "scoreDelta", "event_id": "actionId", "attestation": "signature",
}

// deltaError answers what a caller may not do with a 401, the only such status of the
// specification.
func deltaError(status int, e *wire.Error) (int, any) {
	if status == http.StatusForbidden {
		status = http.StatusUnauthorized
	}
	return deltaFields.nativeShape(status, e)
}

// update is POST /v1/score/update.
func (d *delta) update(c *api.Call) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	w := api.Write{Board: d.board, Body: body, ByRules: true}
	var given bool
	if err := protocol.DecodeFields(
		body, false,
		protocol.Field{Name: "userId", To: &w.User},
		protocol.Field{Name: "scoreDelta", To: &w.Delta, Given: &given},
		protocol.Field{Name: "actionId", To: &w.Event},
		protocol.Field{Name: "timestamp", To: &w.Timestamp},
		protocol.Field{Name: "signature", To: &w.Attestation},
	); err != nil {
		return err
	}
	switch {
	case w.Attestation == "" && c.Anonymous():
		return auth.ErrNoToken()
	case !given:
		return scoreboard.Invalid("scoreDelta", "scoreDelta is required")
	case w.Timestamp == "":
		return scoreboard.Invalid("timestamp", "timestamp is required")
	}
	receipt, err := c.Submit(&w)
	if wire.CodeOf(err) == wire.CodeEventConflict {
		receipt, err = c.Recorded(&w, err)
	}
	if err != nil {
		return err
	}
	c.Respond(deltaResult{int64(receipt.NewScore)})
	return nil
}

// deltaResult is the result of an increment.
type deltaResult struct {
	NewScore int64 `json:"newScore"`
}

// deltaTop is the first rows of the board.
type deltaTop struct {
	Top  []deltaRow `json:"top"`
	AsOf time.Time  `json:"asOf"`
}

// deltaScore is the score of a user.
type deltaScore struct {
	UserID   string    `json:"userId"`
	Username string    `json:"username"`
	Score    int64     `json:"score"`
	Rank     int64     `json:"rank"`
	AsOf     time.Time `json:"asOf"`
}

// deltaRow is a user on the board.
type deltaRow struct {
	Rank     int64  `json:"rank"`
	UserID   string `json:"userId"`
	Username string `json:"username"`
	Score    int64  `json:"score"`
}

func deltaRows(entries []scoreboard.Entry) []deltaRow {
	rows := make([]deltaRow, len(entries))
	for i := range entries {
		e := &entries[i]
		rows[i] = deltaRow{e.Rank, string(e.User), name(e), int64(e.Score)}
	}
	return rows
}

// top is GET /v1/leaderboard/top.
func (d *delta) top(c *api.Call) error {
	n, err := c.QueryInt("n", c.TopN(), 1, scoreboard.TopSize)
	if err != nil {
		return err
	}
	board, err := c.Board(d.board)
	if err != nil {
		return err
	}
	top, err := c.Top(board, 0)
	if err != nil {
		return err
	}
	c.RespondFirst(top, n, func() any { return deltaTop{deltaRows(first(top, n)), instant(top.AsOf)} })
	return nil
}

// score is GET /v1/users/{id}/score.
func (d *delta) score(c *api.Call) error {
	user, err := c.Caller.UserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	board, err := c.Board(d.board)
	if err != nil {
		return err
	}
	e, asOf, err := c.Entry(board, user)
	if err != nil {
		return err
	}
	c.Respond(deltaScore{string(e.User), name(e), int64(e.Score), e.Rank, instant(asOf)})
	return nil
}

// token is POST /v1/leaderboard/ws-token.
func (d *delta) token(c *api.Call) error {
	token, expires, err := c.StreamToken(scoreboard.BoardID(d.board))
	if err != nil {
		return err
	}
	c.Respond(deltaToken{token, instant(expires)})
	return nil
}

// deltaToken opens WebSockets until it expires.
type deltaToken struct {
	Token     string    `json:"token"`     // parameter token of WebSockets from one address
	ExpiresAt time.Time `json:"expiresAt"` // a minute from now, or when the bearer token expires
}
