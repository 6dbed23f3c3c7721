package clienttest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// statementPage is the number of events on a page of a statement. It is smaller than
// the real server's, so that small tests have several pages.
const statementPage = 3

// entry is one row of the ledger.
type entry struct {
	user string
	protocol.StatementEntry
}

func (s *Server) statement(w http.ResponseWriter, r *http.Request) {
	user, scope, ok := caller(w, r)
	if !ok || !s.boardExists(w, r) {
		return
	}
	about, query := r.PathValue("user"), r.URL.Query()
	if about != user && !hasScope(scope, "score:admin") {
		refuse(w, 403, scoreboard.Errorf(scoreboard.CodeForbidden, "the token is not for this user"))
		return
	}
	from, _ := time.Parse(time.RFC3339, query.Get("from"))
	to, err := time.Parse(time.RFC3339, query.Get("to"))
	if err != nil {
		to = time.Now().Add(time.Hour)
	}
	page := statementPage
	if n, err := strconv.Atoi(query.Get("limit")); err == nil {
		page = min(page, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.game.log)
	if text := query.Get("cursor"); text != "" {
		if before, err = strconv.Atoi(text); err != nil || before > len(s.game.log) {
			refuse(w, 400, scoreboard.Invalid("cursor", "cursor is not one of a statement"))
			return
		}
	}
	if s.game.users[about] == nil {
		refuse(w, 404, scoreboard.Errorf(scoreboard.CodeNotFound, "the user has no score"))
		return
	}
	out := protocol.Statement{Entries: []protocol.StatementEntry{}}
	for i := before - 1; i >= 0; i-- {
		e := s.game.log[i]
		if e.user != about || e.RecordedAt.Before(from) || !e.RecordedAt.Before(to) {
			continue
		}
		if len(out.Entries) == page {
			out.NextCursor = strconv.Itoa(i + 1)
			break
		}
		out.Entries = append(out.Entries, e.StatementEntry)
	}
	write(w, 200, out)
}
