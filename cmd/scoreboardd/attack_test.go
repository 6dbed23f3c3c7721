package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// attack is one request and the response that it must get.
type attack struct {
	name   string
	method string
	path   string
	token  string // bearer token; "" sends none
	body   string
	header map[string]string
	status int
	code   string
}

// attackSuite holds what attacks vary: a valid request of alice, and the keys and
// tokens of others.
type attackSuite struct {
	t        *testing.T
	p, thief *identity
	key      client.Key
	now      time.Time
	alice    string // a valid token
}

const increment = "/v1/scores/increment"

// signed returns the valid request, edited before it is signed.
func (s *attackSuite) signed(edit func(*wire.IncrementRequest)) string {
	r := wire.IncrementRequest{
		UserID: "alice", Delta: 5, EventID: "e1", Timestamp: s.now.Format(time.RFC3339),
		KeyID: s.key.KeyID,
	}
	if edit != nil {
		edit(&r)
	}
	if r.Signature == "" {
		r.Signature = wire.Sign(s.key.Secret, r.FieldText())
	}
	b, err := json.Marshal(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// change returns the valid request, changed after it was signed.
func (s *attackSuite) change(from, to string) string {
	s.t.Helper()
	body := strings.Replace(s.signed(nil), from, to, 1)
	if body == s.signed(nil) {
		s.t.Fatalf("%s is not in the body", from)
	}
	return body
}

// Every known attempt to impersonate a user, to alter a signed request and to reach
// another user's data, by attacker (docs/threats.md), with the response that it gets.
// Attacks on tickets are in server/join_test.go, attacks on every route in
// server/http/api/routes_test.go and FuzzRoutes.
func TestAttacks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p, thief := newIdentity(t), newIdentity(t)
	h.env = append(h.env, "SCOREBOARD_AUTH_JWT_SECRET=", "SCOREBOARD_AUTH_JWKS_NETWORKS=127.0.0.0/8",
		"SCOREBOARD_AUTH_JWKS_URL="+p.URL,
		"SCOREBOARD_LIMIT_AUTH_FAILURES_PER_MINUTE=0", "SCOREBOARD_REALTIME_ORIGINS=https://game.example",
		"SCOREBOARD_ANOMALY_COUNTRY_HEADER=CF-IPCountry",
		"SCOREBOARD_TRUSTED_PROXIES=192.0.2.200")
	d := h.start()
	admin, err := client.New(d.url, client.Options{Token: p.good("root", auth.ScopeAdmin)})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	key, err := admin.CreateKey(t.Context(), client.KeyRequest{Name: "tests"})
	if err != nil {
		t.Fatal(err)
	}
	limited, err := admin.CreateKey(t.Context(), client.KeyRequest{
		Name: "limited", UserPrefix: "npc-", MaxDelta: 1, Boards: []string{"global"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &attackSuite{t: t, p: p, thief: thief, key: key, now: time.Now().UTC(), alice: p.good("alice", "")}
	alice, signed := s.alice, s.signed
	attackers := map[string][]attack{
		"someone without a token": s.tokens(),
		"a peer on the network":   s.signatures(),
		"a player":                slices.Concat(s.forms(), s.player()),
		"a leaked low-scope key":  s.leakedKey(limited),
		"a careless operator":     s.operator(),
		"a page of another site":  s.foreignPage(),
	}

	// The attacks vary this request; its event is alice's from now on. Its headers
	// with an address and a country must be ignored: only another proxy is trusted.
	made := map[string]string{
		"CF-IPCountry": "DE", "X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1", "X-Real-IP": "192.0.2.1",
		"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example",
		"X-Forwarded-Client-Cert": `Subject="CN=game"`, "X-Client-Verify": "SUCCESS", "X-Client-S-DN": "CN=game",
	}
	theirs := attack{
		method: "POST", path: increment, token: alice, header: made,
		body: signed(func(r *wire.IncrementRequest) { r.EventID = "theirs" }),
	}
	if status, _ := send(t, d.url, &theirs); status != 200 {
		t.Fatalf("the valid request: got %d", status)
	}
	if n := h.sql(
		`select count(*) from user_score_histories where address <> '127.0.0.1' or country is not null`,
	); n != 0 {
		t.Error("a forged address or country is trusted")
	}
	const anyone = "someone without a token"
	attackers[anyone] = append(attackers[anyone], attack{
		name: "certificate claimed in a header", method: "POST", path: "/v1/scores/increments", body: `{"items":[]}`,
		header: made, status: 401, code: "unauthorized",
	})
	const rows = `select (select count(*) from users) + (select count(*) from scores)
	+ (select count(*) from user_score_histories)
+ (select count(*) from outbox_score_updates) + (select count(*) from keys) + (select count(*) from boards)`
	before := h.sql(rows)
	for attacker, attacks := range attackers {
		t.Run(attacker, func(t *testing.T) {
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) { s.fails(t, d.url, &a) })
			}
		})
	}
	if after := h.sql(rows); after != before {
		t.Errorf("the attacks changed %d rows", after-before)
	}
	if n := thief.Reads.Load(); n != 0 {
		t.Errorf("keys were read %d times from a URL in a token", n)
	}
	if n := p.Reads.Load(); n > 10 {
		t.Errorf("the provider was read %d times", n)
	}
	unknown, wrong := answerTo(t, d.url, alice, signed(func(r *wire.IncrementRequest) { r.KeyID = "k_nobody" })),
		answerTo(t, d.url, alice, signed(func(r *wire.IncrementRequest) { r.Signature = strings.Repeat("00", 32) }))
	if unknown != wrong {
		t.Errorf("got %s for an unknown key and %s for a wrong signature, want the same response", unknown, wrong)
	}
	_, metrics := send(t, d.ops, &attack{method: "GET", path: "/metrics"})
	if !bytes.Contains(metrics, []byte("scoreboard_api_request_seconds")) {
		t.Errorf("not metrics: %.200s", metrics)
	}
	if n := h.sql(`select count(*) from key_secrets`); n != 2 {
		t.Errorf("%d secrets are stored, want two", n)
	}
	if n := h.sql(`select count(*) from key_secrets where position(convert_to('` + key.Secret +
		`', 'UTF8') in sealed) > 0`); n != 0 {
		t.Error("the secret is stored in plain text")
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	logs := d.logs.String()
	for what, secret := range map[string]string{
		"signing secret": key.Secret, "token": alice,
		"master key": backends.MasterKey,
	} {
		if strings.Contains(logs, secret) || bytes.Contains(metrics, []byte(secret)) {
			t.Errorf("the log or a metric contains the %s", what)
		}
	}
}

// fails sends an attack, which must get the response that it names.
func (s *attackSuite) fails(t *testing.T, url string, a *attack) {
	t.Helper()
	status, answer := send(t, url, a)
	var e wire.Error
	if a.code != "" {
		if err := json.Unmarshal(answer, &e); err != nil {
			t.Errorf("response %q: %v", answer, err)
		}
	}
	if status != a.status || e.ErrorCode != a.code {
		t.Errorf("got %d %s, want %d %s", status, answer, a.status, a.code)
	}
	if bytes.Contains(answer, []byte(s.key.Secret)) {
		t.Errorf("the response contains the secret: %s", answer)
	}
}

// answerTo returns the response to a write, without the parts that differ in every
// response.
func answerTo(t *testing.T, url, token, body string) string {
	t.Helper()
	_, answer := send(t, url, &attack{
		method: "POST", path: "/v1/scores/increment", token: token, body: body,
		header: map[string]string{"X-Request-Id": "same"},
	})
	return string(answer)
}

func send(t *testing.T, url string, a *attack) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), a.method, url+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	if a.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}
