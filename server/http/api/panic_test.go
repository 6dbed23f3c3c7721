package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// panicking is an audit trail that panics as often as it is read.
type panicking struct{ trail }

func (panicking) AuditEntries(context.Context, scoreboard.AuditFilter) ([]scoreboard.AuditEntry, error) {
	panic("a secret of the code")
}

// A panic in a handler is an internal error without details and a line in the log, and the
// server answers the next request.
func TestPanicEndsOneRequest(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := everything(&panicking{}, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	token, _, err := a.callers.tokens.Mint("root", auth.ScopeAdmin, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w
	}
	for range 2 {
		w := ask("/v1/admin/audit")
		var e wire.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusInternalServerError ||
			e.ErrorCode != string(wire.CodeInternal) || e.RequestID == "" ||
			strings.Contains(w.Body.String(), "secret") {
			t.Errorf("got %d %s (%v)", w.Code, w.Body, err)
		}
	}
	if got := strings.Count(log.String(), "a secret of the code"); got < 2 {
		t.Errorf("the log has the panics %d times: %s", got, &log)
	}
	if w := ask("/openapi.json"); w.Code != http.StatusOK {
		t.Errorf("after a panic, another request got %d", w.Code)
	}
}
