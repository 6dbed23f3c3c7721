package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// sendBatch posts n good items, signed, and returns the results.
func (r *rig) sendBatch(token string, n int) (status int, results []wire.BatchResult) {
	r.t.Helper()
	at := time.Now().UTC().Format(time.RFC3339)
	items := make([]string, n)
	for i := range items {
		items[i] = `{"user_id":"alice","delta":5,"event_id":"e` + strconv.Itoa(i) + `","timestamp":"` + at + `"}`
	}
	body := `{"items":[` + strings.Join(items, ",") + `]}`
	const path = "/v1/scores/increments"
	now := strconv.FormatInt(time.Now().Unix(), 10)
	req := httptest.NewRequestWithContext(r.t.Context(), http.MethodPost, path, strings.NewReader(body))
	req.RemoteAddr = "192.0.2.1:1234"
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set(wire.HeaderKey, "k1")
	req.Header.Set(wire.HeaderTimestamp, now)
	req.Header.Set(
		wire.HeaderSignature,
		"v1="+wire.Sign("s1", wire.HeaderText(http.MethodPost, path, "k1", now, []byte(body))),
	)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		return w.Code, nil
	}
	var answer wire.BatchResults
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Results) != n {
		r.t.Fatalf("got %s: %v", w.Body, err)
	}
	return w.Code, answer.Results
}

func TestBatchItemsCountAgainstLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	server := r.token(r.tokens, "game", auth.ScopeUpdate)
	for round, want := range []int{30, 20} { // of 50
		status, results := r.sendBatch(server, 30)
		if status != http.StatusOK {
			t.Fatalf("batch %d: got %d", round, status)
		}
		for i, got := range results {
			if i < want && got.Status != wire.StatusDone {
				t.Errorf("batch %d, item %d within the limit: got %s %+v", round, i, got.Status, got.Error)
			}
			if i >= want && (got.Status != wire.StatusRejected || got.Error == nil ||
				got.Error.ErrorCode != "rate_limited" || got.Error.EventID == "") {
				t.Errorf("batch %d, item %d past the limit: got %s %+v", round, i, got.Status, got.Error)
			}
		}
	}
	if status, _ := r.sendBatch(server, 30); status != http.StatusTooManyRequests {
		t.Errorf("a batch when the limit is used up: got %d, want 429", status)
	}
}
