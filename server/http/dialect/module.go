package dialect

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// module counts actions that are configured, and answers with the top 10 after each.
type module struct {
	board string
	rules func() scoreboard.Rules
}

func newModule(o *Options, board string) *api.Dialect {
	m := &module{board, o.Rules}
	return &api.Dialect{
		Error: moduleError,
		Attestation: &auth.AttestationForm{
			User: "userId", Delta: "scoreIncrement", Event: "timestamp", Action: "actionId",
			Board: scoreboard.BoardID(board),
		},
		Routes: []api.DialectRoute{
			{Method: "POST", Path: "/api/v1/scores/update", Access: api.AccessWrite, Handle: m.update},
		},
	}
}

var moduleFields = fields{
	"user_id": "userId", "delta": "scoreIncrement", "action": "actionId", "action_token": "actionToken",
}

// duplicateWindow is how long the same action of a user with the same points is a duplicate
// of the first, unless the rule of the action has a window (once) of its own.
const duplicateWindow = time.Second

// moduleError answers an action that the user may not perform with a 403.
func moduleError(status int, e *wire.Error) (int, any) {
	if e.Reason == string(wire.ReasonActionBy) {
		out := *e
		out.ErrorCode = string(wire.CodeForbidden)
		return moduleFields.nativeShape(http.StatusForbidden, &out)
	}
	return moduleFields.nativeShape(status, e)
}

// moduleRow is a user on the board.
type moduleRow struct {
	UserID   string `json:"userId"`
	Username string `json:"username"`
	Score    int64  `json:"score"`
	Rank     int64  `json:"rank"`
}

// moduleUpdate is the result of an increment, with the first rows after it.
type moduleUpdate struct {
	UserID      string      `json:"userId"`
	NewScore    int64       `json:"newScore"`
	Rank        int64       `json:"rank"`
	Leaderboard []moduleRow `json:"leaderboard"`
}

// update is POST /api/v1/scores/update.
func (m *module) update(c *api.Call) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	var r struct{ user, action, timestamp, token, attestation string }
	var points int64
	var given bool
	if err := protocol.DecodeFields(
		body, false,
		protocol.Field{Name: "userId", To: &r.user},
		protocol.Field{Name: "actionId", To: &r.action},
		protocol.Field{Name: "scoreIncrement", To: &points, Given: &given},
		protocol.Field{Name: "timestamp", To: &r.timestamp},
		// Not of the specification, for boards that require them.
		protocol.Field{Name: "actionToken", To: &r.token},
		protocol.Field{Name: "attestation", To: &r.attestation},
	); err != nil {
		return err
	}
	if !given {
		return scoreboard.Invalid("scoreIncrement", "scoreIncrement is required")
	}
	at, err := scoreboard.ParseTime(r.timestamp)
	if err != nil {
		return scoreboard.Invalid("timestamp", "timestamp must be RFC 3339")
	}
	user, err := c.Caller.UserID(r.user)
	if err != nil {
		return err
	}
	if r.action == "" || m.rules().Of(r.action) == nil {
		return scoreboard.Invalid("actionId", "action %.64q is not configured (setting ingest.actions)", r.action)
	}
	// The same action at the same time is the same event.
	text := strings.Join([]string{string(user), r.action, at.UTC().Format(time.RFC3339Nano)}, "|")
	receipt, err := c.Submit(&api.Write{
		User: string(user), Board: m.board, ServerEvent: scoreboard.NamedEventID(user, text).Text, Delta: int64(points),
		Action: r.action, Timestamp: r.timestamp, Body: body, ByRules: true, Once: duplicateWindow,
		ActionToken: r.token, Attestation: r.attestation, Attested: r.timestamp,
	})
	if err != nil {
		return err
	}
	return m.answer(c, receipt)
}

// answer responds with a receipt and the first rows, which include it.
func (m *module) answer(c *api.Call, receipt *scoreboard.Receipt) error {
	board, err := c.BoardOf(receipt)
	if err != nil {
		return err
	}
	place, err := c.Place(board, receipt.User, 0, receipt.Version)
	if err != nil {
		return err
	}
	top, err := c.Top(board, place.Version)
	if err != nil {
		return err
	}
	out := moduleUpdate{
		UserID: string(receipt.User), NewScore: int64(receipt.NewScore), Rank: place.Rank, Leaderboard: []moduleRow{},
	}
	for _, e := range withPlace(top, place, board) {
		out.Leaderboard = append(out.Leaderboard, moduleRow{string(e.User), name(&e), int64(e.Score), e.Rank})
	}
	c.Respond(out)
	return nil
}

// withPlace returns the first rows of top with a user's standing in them, which top may
// not include yet.
func withPlace(top *scoreboard.Top, place *scoreboard.Place, board *scoreboard.Board) []scoreboard.Entry {
	rows := slices.Clone(top.Entries)
	at := slices.IndexFunc(rows, func(e scoreboard.Entry) bool { return e.ID() == place.User })
	switch {
	case at >= 0 && rows[at].Pair() == place.Pair():
		rows[at].Reveal() // users see themselves
		return rows[:min(topRows, len(rows))]
	case at < 0 && place.Rank > topRows, place.Private:
		return rows[:min(topRows, len(rows))]
	}
	own := scoreboard.Entry{User: place.User, Score: place.Score, Subscore: place.Subscore}
	mine := place.Position(board)
	insert := len(rows)
	for i := range rows {
		position := top.Position(i, board)
		if i != at && mine.Compare(&position) < 0 {
			insert = i
			break
		}
	}
	if at >= 0 {
		rows[at].Reveal()
		own.Profile = rows[at].Profile
		rows = slices.Delete(rows, at, at+1)
		if at < insert {
			insert--
		}
	}
	rows = slices.Insert(rows, insert, own)
	for i := range rows {
		rows[i].Rank = int64(i + 1)
	}
	if board.SharesRanks() {
		scoreboard.ShareRanks(rows, 1)
	}
	return rows[:min(topRows, len(rows))]
}
