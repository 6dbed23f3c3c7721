package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// between is a ledger and its pending markers. The event is recorded, and its marker
// cleared, between the lookups, so that the first lookup of each misses it.
type between struct{ lookups int }

func (b *between) Event(context.Context, scoreboard.UserID, scoreboard.EventID) ([]scoreboard.Receipt, error) {
	if b.lookups++; b.lookups == 1 {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "not recorded yet")
	}
	return []scoreboard.Receipt{{User: "alice", Board: scoreboard.GlobalBoard}}, nil
}

func (b *between) Accept(context.Context, scoreboard.Increment) ([]scoreboard.Receipt, error) {
	return nil, nil
}

func (b *between) Status(context.Context, scoreboard.UserID, scoreboard.EventID) (bool, *scoreboard.Error, error) {
	return false, nil, scoreboard.Errorf(wire.CodeNotFound, "no marker")
}

// bare is a catalog of boards without subscores.
type bare struct{ Catalog }

func (bare) Named(context.Context, scoreboard.BoardID, bool, time.Time) (*scoreboard.Board, error) {
	return &scoreboard.Board{}, nil
}

func (b *between) Rank(context.Context, []*scoreboard.Receipt) {}

func TestEventRecordedBetweenLookups(t *testing.T) {
	t.Parallel()
	b := &between{}
	h := &events{events: b, acceptor: b, ranks: &ranks{b, subscoreBoards{bare{}}}}
	w := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events/e1", http.NoBody)
	c.Params = gin.Params{{Key: "event_id", Value: "e1"}}
	if err := h.event(c, &auth.Claims{User: "alice"}); err != nil {
		t.Fatalf("got %v after %d lookups", err, b.lookups)
	}
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"done"`) || b.lookups != 2 {
		t.Errorf("got %d %s after %d lookups", w.Code, w.Body, b.lookups)
	}
}
