package api_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// signedFor is an increment signed with key k1.
func signedFor(user, board string, delta int64) string {
	q := wire.IncrementRequest{
		UserID:    user,
		Delta:     delta,
		EventID:   "e",
		Board:     board,
		Timestamp: time.Now().UTC().Format(time.RFC3339),
		KeyID:     "k1",
	}
	q.Signature = wire.Sign("s1", q.FieldText())
	b, err := json.Marshal(q)
	if err != nil {
		panic(err) // cannot fail for this type
	}
	return string(b)
}

func TestKeyScope(t *testing.T) {
	t.Parallel()
	const path = "/v1/scores/increment"
	r := newRig(t, 1000)
	r.scopes["k1"] = scoreboard.KeyScope{
		Boards: []scoreboard.BoardID{"arena"}, UserPrefix: "eu:", MaxDelta: 10, PerMinute: 3,
	}
	server := r.token(r.tokens, "game", auth.ScopeUpdate)
	r.want("within it", http.StatusOK, "", "POST", path, server, signedFor("eu:alice", "arena", 10))
	r.want("another board", http.StatusForbidden, "forbidden", "POST", path, server, signedFor("eu:alice", "lobby", 10))
	r.want(
		"the board that is meant by none",
		http.StatusForbidden,
		"forbidden",
		"POST",
		path,
		server,
		signedFor("eu:alice", "", 10),
	)
	r.want("another user", http.StatusForbidden, "forbidden", "POST", path, server, signedFor("us:alice", "arena", 10))
	r.want(
		"a part of the prefix",
		http.StatusForbidden,
		"forbidden",
		"POST",
		path,
		server,
		signedFor("eu", "arena", 10),
	)
	r.want(
		"too much",
		http.StatusUnprocessableEntity,
		"delta_out_of_range",
		"POST",
		path,
		server,
		signedFor("eu:alice", "arena", 11),
	)
	for range 2 {
		r.want("the rest of the minute", http.StatusOK, "", "POST", path, server, signedFor("eu:bob", "arena", 1))
	}
	r.want(
		"one more in the minute",
		http.StatusTooManyRequests,
		"rate_limited",
		"POST",
		path,
		server,
		signedFor("eu:bob", "arena", 1),
	)
	r.want("another key", http.StatusOK, "", "POST", path, server, increment("alice", "e1", "k2", "s2"))
	if got := r.rates[3].taken["k1"]; got != 4 {
		t.Errorf("the key's rate was charged %d times, want 4: out-of-scope requests are not events", got)
	}
}

// A key's rate is that of all its users: only events that are recorded count, neither
// repeats nor what is rejected.
func TestKeyRateCountsRecordedEvents(t *testing.T) {
	t.Parallel()
	const path = "/v1/scores/increment"
	r := newRig(t, 1000)
	r.scopes["k1"] = scoreboard.KeyScope{UserPrefix: "eu:", PerMinute: 3}
	server := r.token(r.tokens, "game", auth.ScopeUpdate)
	for range 4 {
		r.want("a repeat", http.StatusOK, "", "POST", path, server, signedFor("eu:repeating", "arena", 1))
		r.want("a banned user", http.StatusForbidden, "forbidden", "POST", path, server,
			signedFor("eu:banned", "arena", 1))
		r.want("no such board", http.StatusNotFound, "not_found", "POST", path, server,
			signedFor("eu:bob", "nowhere", 1))
	}
	const repeat = `{"user_id":"eu:repeating","delta":1,"event_id":"e","timestamp":"2026-11-21T12:00:00Z"}`
	r.signedBatch(server, "k1", "s1", `{"items":[`+repeat+","+repeat+","+repeat+`]}`)
	if got := r.rates[3].taken["k1"]; got != 0 {
		t.Errorf("the key's rate was charged %d times for what was not recorded", got)
	}
	r.want("perhaps recorded", http.StatusServiceUnavailable, "unavailable", "POST", path, server,
		signedFor("eu:away", "arena", 1))
	for range 2 {
		r.want("recorded", http.StatusOK, "", "POST", path, server, signedFor("eu:bob", "arena", 1))
	}
	r.want("one more", http.StatusTooManyRequests, "rate_limited", "POST", path, server,
		signedFor("eu:bob", "arena", 1))
	// A user's own limit comes first.
	r.scopes["k2"] = scoreboard.KeyScope{PerMinute: 100}
	alice := r.token(r.tokens, "alice", "")
	for i := range 6 {
		want, code := http.StatusOK, ""
		if i >= r.limits.updates.left {
			want, code = http.StatusTooManyRequests, "rate_limited"
		}
		r.want("a user", want, code, "POST", path, alice, increment("alice", "e"+strconv.Itoa(i), "k2", "s2"))
	}
	if got := r.rates[100].taken["k2"]; got != r.limits.updates.left {
		t.Errorf("one user used %d of the key's rate, want %d", got, r.limits.updates.left)
	}
}

func TestBatchKeyScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	r.scopes["k1"] = scoreboard.KeyScope{UserPrefix: "eu:", PerMinute: 2}
	item := func(user string) string {
		return `{"user_id":"` + user + `","delta":1,"event_id":"e","timestamp":"2026-11-21T12:00:00Z"}`
	}
	body := `{"items":[` + strings.Join([]string{item("eu:a"), item("us:a"), item("eu:b"), item("eu:c")}, ",") + `]}`
	w := r.signedBatch(r.token(r.tokens, "game", auth.ScopeUpdate), "k1", "s1", body)
	var out wire.BatchResults
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	want := []string{"", "forbidden", "", "rate_limited"}
	for i, result := range out.Results {
		code := ""
		if result.Error != nil {
			code = result.Error.ErrorCode
		}
		if code != want[i] {
			t.Errorf("item %d: got %q, want %q", i, code, want[i])
		}
	}
}
