package server_test

import (
	"crypto"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// provider is an identity provider with one key.
type provider struct {
	*httptest.Server
	name, issuer string
	key          ed25519.PrivateKey
}

func newProvider(t *testing.T, name string) *provider {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	set := fixtures.KeySet(t, map[string]crypto.Signer{name: key})
	p := &provider{name: name, issuer: "scoreboard-dev", key: key}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = w.Write(set)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) token(t *testing.T, user, scope string) string {
	t.Helper()
	now := time.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"sub": user, "iss": p.issuer, "aud": "scoreboard", "scope": scope,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	token.Header["kid"] = p.name
	signed, err := token.SignedString(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// maxDelay is how soon a changed setting must be in force on every node.
const maxDelay = 2 * time.Second

func TestChangeIdentityProvider(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	before, after := newProvider(t, "before"), newProvider(t, "after")
	h.settings["auth-jwt-secret"] = ""
	h.settings["auth-jwks-networks"] = "127.0.0.0/8,::1/128"
	h.settings["auth-jwks-url"], h.settings["limit-auth-failures-per-minute"] = before.URL, "0"
	one, two := h.start("api,relay,projector,maintenance"), h.start("read")
	// The same token each time, so that a node's cache of tokens is tested.
	tokens := map[*provider]string{before: before.token(t, "alice", ""), after: after.token(t, "alice", "")}
	passes := func(n *node, p *provider) bool {
		status, body := h.get(t, n.URL+"/v1/leaderboard/top", bearer(tokens[p]))
		if status != http.StatusOK && status != http.StatusUnauthorized {
			t.Fatalf("got %d %s", status, body)
		}
		return status == http.StatusOK
	}
	for _, n := range []*node{one, two} {
		h.await("the keys to be read", func() bool { return passes(n, before) })
		if passes(n, after) {
			t.Fatal("a token of an unknown provider is accepted")
		}
	}
	admin := func(p *provider) *client.Client {
		c, err := client.New(one.URL, client.Options{Token: p.token(t, "root", auth.ScopeAdmin)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	change := func(c *client.Client, name, value string) error {
		_, err := c.ChangeSetting(t.Context(), name, client.SettingRequest{Value: &value, Reason: "a test"})
		return err
	}
	gone := newProvider(t, "gone")
	gone.Close()
	for _, bad := range []string{gone.URL, "http://idp.example/keys", before.URL + "/%zz", ""} {
		if err := change(admin(before), "auth.jwks_url", bad); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%q: got %v, want it rejected: no operator could undo it", bad, err)
		}
	}
	for _, private := range []string{"https://169.254.169.254/latest/meta-data", "https://10.0.0.1/keys"} {
		err := change(admin(before), "auth.jwks_url", private)
		if wire.CodeOf(err) != wire.CodeInvalidRequest || !strings.Contains(err.Error(), "jwks_networks") {
			t.Errorf("%q: got %v, want it rejected by auth.jwks_networks", private, err)
		}
	}
	switchProvider := func(from, to *provider) time.Duration {
		t.Helper()
		err := change(admin(from), "auth.jwks_url", to.URL)
		if wire.CodeOf(err) != wire.CodeInvalidRequest || !strings.Contains(err.Error(), "force") ||
			!passes(one, from) || passes(one, to) {
			t.Errorf("a provider that locks out the author of the change: got %v, want it rejected", err)
		}
		at := time.Now()
		if _, err := admin(from).ChangeSetting(t.Context(), "auth.jwks_url",
			client.SettingRequest{Value: &to.URL, Force: true}); err != nil {
			t.Fatal(err)
		}
		if passes(one, from) || !passes(one, to) {
			t.Error("the node that accepted the change uses the old keys")
		}
		h.await("the other node to accept the new provider's tokens", func() bool { return passes(two, to) })
		took := time.Since(at)
		if passes(two, from) { // it has cached one of them
			t.Error("tokens of the old provider are still accepted")
		}
		return took
	}
	switchProvider(before, after)
	// The other node has just polled, so the next change takes the longest possible
	// time. A stalled machine gets another try.
	quickest := time.Hour
	for try := 0; try < 3 && quickest > maxDelay; try++ {
		quickest = min(quickest, switchProvider(after, before), switchProvider(before, after))
	}
	if t.Logf("in force on the other node after %s", quickest.Round(time.Millisecond)); quickest > maxDelay {
		t.Errorf("another key set is in force on the other node after %s, want %s at most", quickest, maxDelay)
	}
	// Another issuer and its key set are changed together: after one alone, no token
	// would be accepted to change the other.
	named := newProvider(t, "named")
	named.issuer = "https://id.example"
	tokens[named] = named.token(t, "alice", "")
	for name, value := range map[string]string{
		"auth.issuer": named.issuer, "auth.audience": "others", "auth.max_token_ttl": "1s",
	} {
		if err := change(admin(after), name, value); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%s %s locks out its author: got %v, want it rejected", name, value, err)
		}
	}
	if err := change(admin(after), "auth.signature", "optional"); err != nil {
		t.Errorf("a setting of auth that locks out nobody: %v", err)
	}
	if _, err := admin(after).ChangeSettings(t.Context(), client.SettingsRequest{Settings: []client.SettingChange{
		{Name: "auth.jwks_url", Value: &named.URL}, {Name: "auth.issuer", Value: &named.issuer},
	}, Force: true}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*node{one, two} {
		h.await("the provider with another issuer", func() bool { return passes(n, named) && !passes(n, after) })
	}
	after = named
	// An unreadable key set does not delay other changes.
	after.Close()
	if err := change(admin(after), "reads.top_n", "3"); err != nil {
		t.Errorf("another setting while the provider is down: %v", err)
	}
	// A node that starts now must not trust the deployed provider again.
	replaced := *before
	replaced.issuer = named.issuer
	three := h.launch("read")
	h.await("the node to say why it is not ready", func() bool {
		status, body := h.get(t, three.Ops+"/readyz", nil)
		return status == http.StatusServiceUnavailable && strings.Contains(body, "auth.jwks_url was not read")
	})
	status, body := h.get(t, three.URL+"/v1/leaderboard/top", bearer(replaced.token(t, "alice", "")))
	if status != http.StatusServiceUnavailable {
		t.Errorf("a token of the replaced provider: got %d %s", status, body)
	}
}

// Disabled streams end with a bye frame and new ones are rejected. Clients that
// reconnect see what they missed.
func TestDisableAndEnableStreams(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, two := h.start(allRoles), h.start(gatewayOnly)
	root, game := one.client("root", auth.ScopeAdmin), one.client("game", auth.ScopeUpdate)
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	change := func(value string) {
		t.Helper()
		if _, err := root.ChangeSetting(t.Context(), "realtime.enabled",
			client.SettingRequest{Value: &value, Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	}
	submit("alice", 5)
	h.await("a ranking", func() bool {
		top, err := root.Top(t.Context(), client.TopQuery{})
		return err == nil && !top.Degraded && len(top.Entries) == 1
	})
	watched := bearer(h.token("watcher", "", time.Hour))
	ws, _ := dial(t, two.live(), watched)
	frame(t, ws)
	change("false")
	f := frame(t, ws)
	for f.Type == wire.MessageUpdated {
		f = frame(t, ws)
	}
	if f.Type != wire.MessageBye || f.ReconnectAfterMS == 0 {
		t.Errorf("got %+v, want a bye frame with a reconnect delay", f)
	}
	closed(t, ws)
	refused := func(n *node) bool {
		status, body := h.get(t, n.live(), http.Header{
			"Authorization": watched["Authorization"],
			"Accept":        {"text/event-stream"},
		})
		return status == http.StatusServiceUnavailable && strings.Contains(body, "error_code")
	}
	for _, n := range []*node{one, two} {
		h.await("streams to be rejected", func() bool { return refused(n) })
	}
	submit("bob", 7)
	submit("alice", 4)
	change("true")
	h.await("streams to be accepted", func() bool { return !refused(two) })
	states := two.client("watcher", "").Watch(t.Context(), "", client.WatchOptions{})
	await(t, states, "the current scores", func(s client.State) bool {
		return s.Connection == client.WebSocket && fmt.Sprint(names(s)) == "[alice 9 bob 7]"
	})
}

func names(s client.State) (all []string) {
	for _, e := range s.Entries {
		all = append(all, fmt.Sprint(e.UserID, " ", e.Score))
	}
	return all
}

// Settings that operators change at run time are checked as they are in force: doctor and the
// console say that a token alone is enough to write as soon as it is, and no longer.
func TestChecksFollowSettings(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "dialects", "delta,module", "dialect-delta-board", "global", "dialect-delta-signature",
		"optional")
	root := n.client("root", auth.ScopeAdmin)
	const unsigned = "dialect.delta.signature is optional: a bearer token alone is enough to write to board global " +
		"and to boards with rules"
	_, page, _ := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour)).get("/console")
	if !strings.Contains(page, unsigned) || strings.Contains(page, "dialect.module.signature") {
		t.Errorf("the console does not show the unsigned writes of delta alone: %s", page)
	}
	detail := func() string {
		checks, err := root.Checks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks.Checks {
			if c.Name == "configuration" {
				return c.Status + ": " + c.Detail
			}
		}
		return ""
	}
	for _, change := range []struct{ name, value, says string }{
		{"auth.signature", "optional", "warn: auth.signature is optional"},
		{"limit.updates_per_minute", "0", "; limit.updates_per_minute is off; " + unsigned},
		{"auth.signature", "required", "warn: limit.updates_per_minute is off; " + unsigned},
		{"limit.updates_per_minute", "10", "warn: " + unsigned},
	} {
		if _, err := root.ChangeSetting(t.Context(), change.name, client.SettingRequest{
			Value: &change.value, Reason: "test",
		}); err != nil {
			t.Fatal(err)
		}
		h.await(change.says, func() bool { return strings.Contains(detail(), change.says) })
	}
}
