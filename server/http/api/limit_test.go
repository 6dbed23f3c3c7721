package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// counting admits left requests of each key.
type counting struct {
	left  int
	taken map[string]int
}

func newCounting(left int) *counting { return &counting{left, map[string]int{}} }

func (l *counting) Take(_ context.Context, key string) time.Duration {
	l.taken[key]++
	if l.taken[key] > l.left {
		return 1500 * time.Millisecond
	}
	return 0
}

func (l *counting) Return(key string) { l.taken[key]-- }

// rig is an API over stubs that accept everything.
type rig struct {
	*api.API
	t      *testing.T
	tokens *auth.Tokens
	past   *auth.Tokens     // the same issuer two hours ago
	clock  func() time.Time // of signatures
	ring   *auth.Keyring
	sealed map[string][]byte
	scopes map[string]scoreboard.KeyScope
	rates  map[int]*counting // limits of keys, by rate
	reads  standins
	open   bool // to anonymous clients
	last   scoreboard.Increment
	limits struct{ updates, servers, top, rank, anonymous, address, failures *counting }
}

func (r *rig) SigningKeys(_ context.Context, ids []string) (map[string]*scoreboard.SigningKey, error) {
	keys := make(map[string]*scoreboard.SigningKey)
	for _, id := range ids {
		if s := r.sealed[id]; s != nil {
			secrets := []scoreboard.EncryptedSecret{{Encrypted: s}}
			keys[id] = &scoreboard.SigningKey{Secrets: secrets, Scope: r.scopes[id]}
		}
	}
	return keys, nil
}

func (r *rig) byRate(perMinute int) api.KeyLimit {
	if r.rates[perMinute] == nil {
		r.rates[perMinute] = newCounting(perMinute)
	}
	return r.rates[perMinute]
}

func (r *rig) PublicBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	b, err := r.Board(ctx, id)
	if err == nil && !b.Public {
		err = scoreboard.Errorf(wire.CodeNotFound, "board %s not found", id)
	}
	return b, err
}

func (r *rig) Families(context.Context) ([]*scoreboard.Board, error) { return nil, nil }

func (r *rig) Periods(context.Context, scoreboard.BoardID) ([]*scoreboard.Board, error) {
	return nil, nil
}

func (r *rig) Named(ctx context.Context, id scoreboard.BoardID, private bool, _ time.Time) (*scoreboard.Board, error) {
	if private {
		return r.Board(ctx, id)
	}
	return r.PublicBoard(ctx, id)
}

func (r *rig) Board(_ context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	if id == "nowhere" {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s not found", id)
	}
	b := &scoreboard.Board{
		ID:       id,
		Family:   id,
		Order:    scoreboard.OrderHighest,
		Public:   id != "secret",
		MinDelta: 1,
		MaxDelta: 100,
	}
	if id == "daily" {
		b.ID = "daily:2026-11-22"
	}
	return b, nil
}

func (r *rig) Submit(_ context.Context, in scoreboard.Increment) ([]scoreboard.Receipt, error) {
	r.last = in
	switch in.User {
	case "eu:banned":
		return nil, scoreboard.Errorf(wire.CodeForbidden, "user %s is banned", in.User)
	case "eu:away":
		return nil, scoreboard.Errorf(wire.CodeUnavailable, "the database does not answer")
	}
	receipts := []scoreboard.Receipt{{User: in.User, Board: in.Boards[0], Event: in.Event}}
	receipts[0].Replayed = in.User == "eu:repeating"
	return receipts, nil
}

func (r *rig) SubmitAll(_ context.Context, in []scoreboard.Increment) []scoreboard.Outcome {
	out := make([]scoreboard.Outcome, len(in))
	for i := range in {
		if in[i].User == "eu:repeating" {
			out[i].Receipts = []scoreboard.Receipt{{Replayed: true}}
		}
	}
	return out
}

const secret = "a secret of the tests, long enough for HS256"

func newRig(t *testing.T, addresses int, edits ...func(*rig)) *rig {
	t.Helper()
	r := &rig{
		t: t, clock: time.Now, sealed: map[string][]byte{}, scopes: map[string]scoreboard.KeyScope{},
		rates: map[int]*counting{},
	}
	for _, edit := range edits {
		edit(r)
	}
	r.tokens = auth.NewTokens(secret, "iss", "aud", time.Now)
	r.past = auth.NewTokens(secret, "iss", "aud", func() time.Time { return time.Now().Add(-2 * time.Hour) })
	ring, err := auth.NewKeyring([]string{strings.Repeat("0f", 32)}, r, slog.New(slog.DiscardHandler), r.clock)
	if err != nil {
		t.Fatal(err)
	}
	r.ring = ring
	r.sealed["k1"], r.sealed["k2"] = ring.Encrypt("k1", "s1"), ring.Encrypt("k2", "s2")
	r.limits.updates, r.limits.servers = newCounting(3), newCounting(50)
	r.limits.top, r.limits.rank = newCounting(4), newCounting(5)
	r.limits.anonymous = newCounting(2)
	r.limits.address, r.limits.failures = newCounting(addresses), newCounting(6)
	r.with(func(*api.Options) {})
	return r
}

// with makes the API again, with other components.
func (r *rig) with(edit func(*api.Options)) {
	reads := func(l *counting) api.Rate { return api.Rate{Users: l, Servers: r.limits.servers} }
	o := api.Options{
		Peers:      append([]string{"arena-1"}, unusualPeers...),
		Tokens:     r.tokens,
		Keyring:    r.ring,
		Catalog:    r,
		Submitter:  r,
		Reads:      &r.reads,
		Hidden:     nobodyHidden{},
		CursorKeys: [][]byte{[]byte("k")},
		Policy:     api.Policy{AnonymousReads: r.open, Async: true, TopN: 10},
		Log:        slog.New(slog.DiscardHandler),
		Now:        time.Now,
		Limits: api.Limits{
			Updates: reads(r.limits.updates), Top: reads(r.limits.top), Rank: reads(r.limits.rank),
			Key:       func(perMinute int) api.KeyLimit { return r.byRate(perMinute) },
			Anonymous: r.limits.anonymous, Address: r.limits.address, AuthFailures: r.limits.failures,
		},
	}
	edit(&o)
	r.API = api.New(o)
}

func (r *rig) token(of *auth.Tokens, user, scope string) string {
	r.t.Helper()
	token, _, err := of.Mint(scoreboard.UserID(user), scope, time.Hour)
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

// do sends a request and checks the shape of an error.
func (r *rig) do(method, target, token, body string) (status int, code string) {
	r.t.Helper()
	req := httptest.NewRequestWithContext(r.t.Context(), method, target, strings.NewReader(body))
	req.RemoteAddr = "192.0.2.1:1234"
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	var e wire.Error
	if w.Code != http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.RequestID == "" {
			r.t.Errorf("%s %s: %d %s: %v", method, target, w.Code, w.Body, err)
		}
	}
	if after := w.Header().Get("Retry-After"); (w.Code == http.StatusTooManyRequests) != (after == "2") {
		r.t.Errorf(
			"%s %s: %d with Retry-After %q, want 2 (the wait of 1.5 s, rounded up) with a 429 alone",
			method,
			target,
			w.Code,
			after,
		)
	}
	return w.Code, e.ErrorCode
}

// signedBatch sends a batch with the header scheme.
func (r *rig) signedBatch(token, key, secret, body string) *httptest.ResponseRecorder {
	r.t.Helper()
	req := httptest.NewRequestWithContext(
		r.t.Context(),
		http.MethodPost,
		"/v1/scores/increments",
		strings.NewReader(body),
	)
	req.RemoteAddr = "192.0.2.1:1234"
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	client.Signer{KeyID: key, Secret: secret}.Headers(req, []byte(body), time.Now())
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

func increment(user, event, key, secret string) string {
	q := wire.IncrementRequest{
		UserID:    user,
		Delta:     5,
		EventID:   event,
		Timestamp: time.Now().UTC().Format(time.RFC3339),
		KeyID:     key,
	}
	q.Signature = wire.Sign(secret, q.FieldText())
	b, err := json.Marshal(q)
	if err != nil {
		panic(err) // cannot fail for this type
	}
	return string(b)
}

func (r *rig) want(what string, status int, code, method, target, token, body string) {
	r.t.Helper()
	if gotStatus, gotCode := r.do(method, target, token, body); gotStatus != status || gotCode != code {
		r.t.Errorf("%s: got %d %s, want %d %s", what, gotStatus, gotCode, status, code)
	}
}

func TestRouteLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, target, body string
		times                int // 0 means unlimited
	}{
		"updates, repeats too": {"POST", "/v1/scores/increment", increment("alice", "e1", "k1", "s1"), 3},
		"malformed updates":    {"POST", "/v1/scores/increment", "{", 3},
		"top":                  {"GET", "/v1/leaderboard/top", "", 4},
		"me":                   {"GET", "/v1/leaderboard/me", "", 5},
		"a score":              {"GET", "/v1/users/bob/score", "", 5},
		"a rank":               {"GET", "/v1/users/bob/rank", "", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1000)
			alice := r.token(r.tokens, "alice", "")
			for i := range c.times {
				if status, code := r.do(c.method, c.target, alice, c.body); status == http.StatusTooManyRequests {
					t.Fatalf("request %d of %d: got %d %s", i+1, c.times, status, code)
				}
			}
			r.want("one more", http.StatusTooManyRequests, "rate_limited", c.method, c.target, alice, c.body)
			if status, code := r.do(
				c.method,
				c.target,
				r.token(r.tokens, "bob", ""),
				c.body,
			); status == http.StatusTooManyRequests {
				t.Errorf("another user: got %d %s", status, code)
			}
			server := r.token(r.tokens, "alice", auth.ScopeUpdate)
			for range 30 {
				if status, code := r.do(c.method, c.target, server, c.body); status == http.StatusTooManyRequests {
					t.Fatalf("a token with score:update: got %d %s", status, code)
				}
			}
			if got := r.limits.servers.taken["alice"]; got != 30 {
				t.Errorf("the limit of servers was charged %d times, want 30", got)
			}
		})
	}
}

func TestAddressLimitBeforeAuthentication(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	for range 2 {
		r.want("a bad token", http.StatusUnauthorized, "unauthorized", "GET", "/v1/leaderboard/top", "bad", "")
	}
	r.want("past the limit", http.StatusTooManyRequests, "rate_limited", "GET", "/v1/leaderboard/top", "bad", "")
	r.want(
		"with a good token",
		http.StatusTooManyRequests,
		"rate_limited",
		"GET",
		"/v1/leaderboard/top",
		r.token(r.tokens, "alice", ""),
		"",
	)
	if got := r.limits.failures.taken["192.0.2.1"]; got != 2 {
		t.Errorf("got %d failures, want 2: requests over the address limit are not authenticated", got)
	}
}

func TestAuthFailureLimit(t *testing.T) {
	t.Parallel()
	const path = "/v1/scores/increment"
	r := newRig(t, 1000)
	server := r.token(r.tokens, "game", auth.ScopeUpdate)
	r.want("before the flood", http.StatusOK, "", "POST", path, server, increment("alice", "e0", "k1", "s1"))
	for _, wrong := range []struct{ name, token, body, code string }{
		{"signature", server, increment("alice", "e1", "k1", "wrong"), "invalid_signature"},
		{"key", server, increment("alice", "e1", "unknown", "s1"), "invalid_signature"},
		{"token", "bad", "", "unauthorized"},
	} {
		for range 2 {
			r.want("a wrong "+wrong.name, http.StatusUnauthorized, wrong.code, "POST", path, wrong.token, wrong.body)
		}
	}
	for i := range 8 {
		made := "unknown-" + string(rune('a'+i))
		r.want(
			"a wrong key past the bound",
			http.StatusTooManyRequests,
			"rate_limited",
			"POST",
			path,
			server,
			increment("alice", "e1", made, "s1"),
		)
		r.want(
			"a wrong signature past the bound",
			http.StatusTooManyRequests,
			"rate_limited",
			"POST",
			path,
			server,
			increment("alice", "e1", "k1", "wrong"),
		)
		r.want("a wrong token past the bound", http.StatusTooManyRequests, "rate_limited", "POST", path, "bad", "")
		r.want("a right signature", http.StatusOK, "", "POST", path, server, increment("alice", "e1", "k1", "s1"))
		another := "k" + strconv.Itoa(i+10)
		r.sealed[another] = r.ring.Encrypt(another, "s")
		r.want("an uncached key", http.StatusOK, "", "POST", path, server, increment("alice", "e1", another, "s"))
		r.want("a right token", http.StatusOK, "", "GET", "/v1/leaderboard/top", server, "")
	}
	before := r.limits.failures.taken["192.0.2.1"]
	r.want(
		"an expired token",
		http.StatusUnauthorized,
		"unauthorized",
		"GET",
		"/v1/leaderboard/top",
		r.token(r.past, "alice", ""),
		"",
	)
	if got := r.limits.failures.taken["192.0.2.1"]; got != before {
		t.Error("an expired token counts as a failed attempt")
	}
}

// nobodyHidden shows everyone.
type nobodyHidden struct{}

func (nobodyHidden) Visibility(scoreboard.UserID) scoreboard.Visibility {
	return scoreboard.VisibilityPublic
}
