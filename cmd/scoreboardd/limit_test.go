package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// newLimitedHarness returns a harness whose daemons have the default limits.
func newLimitedHarness(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.env = slices.DeleteFunc(h.env, func(s string) bool { return strings.HasPrefix(s, "SCOREBOARD_LIMIT_") })
	return h
}

// signer returns a function that signs bodies with a key of its own.
func (h *harness) signer(d *daemon) func(user, event string) string {
	h.t.Helper()
	admin, err := client.New(d.url, client.Options{Token: h.token("root", auth.ScopeAdmin)})
	if err != nil {
		h.t.Fatal(err)
	}
	defer admin.Close()
	key, err := admin.CreateKey(h.t.Context(), client.KeyRequest{Name: "tests"})
	if err != nil {
		h.t.Fatal(err)
	}
	return func(user, event string) string {
		r := wire.IncrementRequest{
			UserID: user, Delta: 1, EventID: event,
			Timestamp: time.Now().UTC().Format(time.RFC3339), KeyID: key.KeyID,
		}
		r.Signature = wire.Sign(key.Secret, r.FieldText())
		b, err := json.Marshal(r)
		if err != nil {
			h.t.Fatal(err)
		}
		return string(b)
	}
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	h := newLimitedHarness(t)
	nodes := []*daemon{h.start(), h.start("--roles", "api")}
	signed := h.signer(nodes[0])
	update := func(i int, bearer, body string) (int, http.Header, string) {
		status, header, e := post(t, nodes[i%2].url+"/v1/scores/increment", "Bearer "+bearer, "application/json", body)
		return status, header, e.ErrorCode
	}
	alice := h.token("alice", "")
	for i := range 10 { // five events, each sent twice
		if status, _, code := update(i, alice, signed("alice", "e"+strconv.Itoa(i/2))); status != http.StatusOK {
			t.Fatalf("update %d: got %d %s", i+1, status, code)
		}
	}
	for i := range 2 {
		status, header, code := update(i, alice, signed("alice", "e9"))
		seconds, err := strconv.Atoi(header.Get("Retry-After"))
		if status != http.StatusTooManyRequests || code != "rate_limited" || err != nil || seconds < 1 || seconds > 6 {
			t.Errorf("the 11th update, by node %d: got %d %s, Retry-After %q", i+1, status, code,
				header.Get("Retry-After"))
		}
	}
	if got := h.sql(`select score from scores where user_id = 'alice'`); got != 5 {
		t.Errorf("got score %d, want 5: rejected updates must not count", got)
	}
	server := h.token("game", auth.ScopeUpdate)
	for i := range 100 {
		if status, _, code := update(i, server, signed("bob", "e"+strconv.Itoa(i))); status != http.StatusOK {
			t.Fatalf("update %d of a server: got %d %s", i+1, status, code)
		}
	}
	for path, times := range map[string]int{"/v1/leaderboard/top": 60, "/v1/leaderboard/me": 30} {
		refused := 0
		for range times + 5 { // one or two tokens may be refilled meanwhile
			if overLimit(t, nodes[0].url+path, alice) {
				refused++
			}
		}
		if refused < 2 || refused > 5 {
			t.Errorf("%s: %d of %d were over the limit, want the last 5", path, refused, times+5)
		}
	}
}

// overLimit reports whether a read is over the limit: rejected, or answered from the
// cache. Both say when to retry.
func overLimit(t *testing.T, url, token string) bool {
	t.Helper()
	_, header := get(t, url, token)
	return header.Get("Retry-After") != ""
}

func statusOf(t *testing.T, url, token string) int {
	t.Helper()
	status, _ := get(t, url, token)
	return status
}

func get(t *testing.T, url, token string) (status int, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header
}

// Limits, ranks and reads query a Redis that hangs: only a few requests may wait for
// it, and users are still limited.
func TestRequestsSurviveHangingRedis(t *testing.T) {
	t.Parallel()
	h := newLimitedHarness(t)
	d := h.start()
	signed := h.signer(d)
	server := h.token("game", auth.ScopeUpdate)
	p95 := func(do func(i int) int, from int) time.Duration {
		const times = 200
		all := make([]time.Duration, times)
		for i := range all {
			began := time.Now()
			if status := do(from + i); status != http.StatusOK {
				t.Errorf("got %d", status)
			}
			all[i] = time.Since(began)
		}
		slices.Sort(all)
		return all[times*95/100]
	}
	write := func(user, event, token string) int {
		status, _, _ := post(t, d.url+"/v1/scores/increment", "Bearer "+token, "application/json", signed(user, event))
		return status
	}
	kinds := []struct {
		name string
		do   func(i int) int
	}{
		{"users' writes", func(i int) int { u := "u" + strconv.Itoa(i); return write(u, "e", h.token(u, "")) }},
		{"a server's writes", func(i int) int { return write("alice", "e"+strconv.Itoa(i), server) }},
		{"reads of the top", func(int) int { return statusOf(t, d.url+"/v1/leaderboard/top", server) }},
		{"reads of a rank", func(int) int { return statusOf(t, d.url+"/v1/users/alice/rank", server) }},
	}
	before := make([]time.Duration, len(kinds))
	for i, k := range kinds {
		before[i] = p95(k.do, 0)
	}
	resume := h.redis.Hang()
	for i, k := range kinds {
		after := p95(k.do, 1000)
		t.Logf("%s: p95 %s, and %s while Redis hangs", k.name, before[i], after)
		// It includes the store's work in place of Redis, and the noise of a busy machine, but
		// no timeout.
		if limit := 2*before[i] + 80*time.Millisecond; after > limit {
			t.Errorf("%s: p95 is %s while Redis hangs, want at most %s", k.name, after, limit)
		}
	}
	limited, carol := 0, h.token("carol", "")
	for i := range 13 {
		if write("carol", "e"+strconv.Itoa(i), carol) == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 2 {
		t.Errorf("%d of 13 updates of a user were rejected while Redis hangs, want nearly 3", limited)
	}
	resume()
	eventually(t, "reads from the ranking again", func() error {
		c, err := client.New(d.url, client.Options{Token: server})
		if err != nil {
			return err
		}
		defer c.Close()
		top, err := c.Top(t.Context(), client.TopQuery{Limit: 10})
		if err == nil && top.Degraded {
			return errors.New("still degraded")
		}
		return err
	})
}
