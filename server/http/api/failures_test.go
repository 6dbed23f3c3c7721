package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// full is an overloaded store.
type full struct{}

var errFull = &scoreboard.Error{
	Code:       wire.CodeOverloaded,
	Message:    "too many are waiting",
	RetryAfter: time.Second,
}

func (full) Submit(context.Context, scoreboard.Increment) ([]scoreboard.Receipt, error) {
	return nil, errFull
}

func (full) SubmitAll(_ context.Context, in []scoreboard.Increment) []scoreboard.Outcome {
	all := make([]scoreboard.Outcome, len(in))
	for i := range all {
		all[i].Err = errFull
	}
	return all
}

// An overload must not be made worse by a log line for each increment.
func TestOverloadLogIsThrottled(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	var logged bytes.Buffer
	now := time.Now()
	r.with(func(o *api.Options) {
		o.Submitter, o.Log = full{}, slog.New(slog.NewJSONHandler(&logged, nil))
		o.Now = func() time.Time { return now }
	})
	token := r.token(r.tokens, "game", auth.ScopeUpdate)
	lines := func() []string { return strings.Split(strings.TrimSpace(logged.String()), "\n") }

	if status, results := r.sendBatch(token, 30); status != http.StatusOK || results[29].Error == nil {
		t.Fatalf("got %d %+v", status, results)
	}
	r.sendBatch(token, 5)
	if got := lines(); len(got) != 1 {
		t.Errorf("35 items rejected at once: got %d log lines, want 1", len(got))
	}
	now = now.Add(time.Second)
	r.sendBatch(token, 5)
	var last struct {
		Code       string `json:"code"`
		Path       string `json:"path"`
		Suppressed int    `json:"suppressed"`
	}
	got := lines()
	if err := json.Unmarshal([]byte(got[len(got)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || last.Code != "overloaded" || last.Path != "/v1/scores/increments" || last.Suppressed != 34 {
		t.Errorf("after a second: got %d log lines, the last %+v; want 2, with 34 suppressed", len(got), last)
	}
	if status, code := r.do(
		"POST",
		"/v1/scores/increment",
		r.token(r.tokens, "alice", ""),
		increment("alice", "e1", "k1", "s1"),
	); status != http.StatusServiceUnavailable ||
		code != "overloaded" {
		t.Errorf("got %d %s", status, code)
	}
	if got := lines(); len(got) != 3 {
		t.Errorf("another route: got %d log lines, want 3", len(got))
	}
}
