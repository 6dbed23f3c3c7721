package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Statements reads a user's events from the ledger.
type Statements interface {
	Statement(ctx context.Context, q scoreboard.StatementQuery) (*scoreboard.Statement, error)
}

// statementPage is the maximum and the default of events on a page.
const statementPage = 100

// ledgerReads answers with users' statements.
type ledgerReads struct {
	store     Statements
	access    *boardAccess
	subscores subscoreBoards
}

// statement is GET /v1/users/{user_id}/statement, for the user and for
// operators.
func (h *ledgerReads) statement(c *gin.Context, caller *auth.Claims) error {
	user, err := caller.UserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	if user != caller.User && !caller.Has(auth.ScopeOperate) {
		return scoreboard.Errorf(wire.CodeForbidden, "the token is not for user %s", user)
	}
	q := scoreboard.StatementQuery{User: user}
	if q.Limit, err = queryInt(c, "limit", statementPage, 1, statementPage); err != nil {
		return err
	}
	if text := c.Query("board"); text != "" {
		if q.Board, err = scoreboard.ParseBoardID(text); err != nil {
			return err
		}
	}
	if q.From, err = queryTime(c, "from"); err != nil {
		return err
	}
	if q.To, err = queryTime(c, "to"); err != nil {
		return err
	}
	if text := c.Query("cursor"); text != "" {
		if q.After, err = parsePosition(text); err != nil {
			return err
		}
	}
	var unknown error // how the board's name is answered to callers without an event on it
	if q.Board != "" {
		if _, unknown = h.access.board(c.Request.Context(), q.Board, caller); unknown != nil &&
			wire.CodeOf(unknown) != wire.CodeNotFound {
			return unknown
		}
	}
	s, err := h.store.Statement(c.Request.Context(), q)
	if unknown != nil && (err == nil && len(s.Rows) == 0 || wire.CodeOf(err) == wire.CodeNotFound) {
		return unknown
	}
	if err != nil {
		return err
	}
	out := wire.Statement{Entries: make([]wire.StatementEntry, len(s.Rows))}
	h.subscores.statementFor(c.Request.Context(), caller, s.Rows, out.Entries)
	if s.More {
		out.NextCursor = formatPosition(s.Rows[len(s.Rows)-1].Position())
	}
	if !s.ArchivedBefore.IsZero() {
		out.ArchivedBefore = &s.ArchivedBefore
	}
	if !s.AsOf.IsZero() {
		out.AsOf = &s.AsOf
	}
	respond(c, http.StatusOK, out)
	return nil
}

// statementFor fills the entries of rows as far as the caller may see them.
func (s subscoreBoards) statementFor(
	ctx context.Context, caller *auth.Claims, rows []scoreboard.LedgerRow, to []wire.StatementEntry,
) {
	for i := range rows {
		to[i] = statementEntry(&rows[i])
		if s.on(ctx, rows[i].Board) {
			to[i].Subscore, to[i].NewSubscore = (*int64)(&rows[i].Subscore), (*int64)(&rows[i].NewSubscore)
		}
		if rows[i].Kind != scoreboard.KindEvent && !caller.Has(auth.ScopeOperate) { // not the player's
			to[i].Address, to[i].UserAgent = "", ""
		}
	}
}

func statementEntry(r *scoreboard.LedgerRow) wire.StatementEntry {
	kind := string(r.Kind)
	if r.Kind == scoreboard.KindEvent {
		kind = ""
	}
	return wire.StatementEntry{
		Kind:    kind,
		EventID: r.Event.Text, Board: string(r.Board), Delta: r.Delta, PreviousScore: (*int64)(r.Previous),
		NewScore: int64(r.Score), Version: r.Version, RecordedAt: r.RecordedAt,
		Action: r.Action, KeyID: r.KeyID, Address: r.Address, UserAgent: r.Agent,
		Metadata: wire.Object(r.Metadata),
	}
}

// formatPosition encodes the cursor of a statement. It is not signed: the token
// decides on each page what may be read.
func formatPosition(p scoreboard.StatementPosition) string {
	text := fmt.Appendf(nil, "%d %d %s", p.RecordedAt.UnixMicro(), p.Version, p.Board)
	return base64.RawURLEncoding.EncodeToString(text)
}

func parsePosition(text string) (p scoreboard.StatementPosition, err error) {
	invalid := scoreboard.Invalid("cursor", "cursor must be the next_cursor of a statement")
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return p, invalid
	}
	parts := strings.Split(string(b), " ")
	if len(parts) != 3 {
		return p, invalid
	}
	micros, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || micros < 0 || micros > 1<<53 {
		return p, invalid
	}
	if p.Version, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return p, invalid
	}
	if p.Board, err = scoreboard.ParseBoardID(parts[2]); err != nil {
		return p, invalid
	}
	p.RecordedAt = time.UnixMicro(micros)
	return p, nil
}
