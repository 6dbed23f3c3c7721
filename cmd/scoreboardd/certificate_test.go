package main

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// On a board that requires an attestation, a server's client certificate counts as
// one, over a real connection. Its writes are recorded under its name. Without a
// certificate, with another name or of another CA nothing is written.
func TestClientCertificateAttests(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := t.TempDir()
	files := map[string]*fixtures.CertificatePair{
		"cert": fixtures.IssueCertificate(t, "scoreboard", nil), "ca": fixtures.IssueCertificate(t, "authority",
			nil), "other": fixtures.IssueCertificate(t, "authority", nil),
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	fixtures.WriteCertificate(t, path("cert"), files["cert"].CertPEM)
	fixtures.WriteCertificate(t, path("key"), files["cert"].KeyPEM)
	fixtures.WriteCertificate(t, path("ca"), files["ca"].CertPEM)
	d := h.start("--tls-cert", path("cert"), "--tls-key", path("key"), "--tls-client-ca", path("ca"),
		"--tls-client-names", "arena-1")
	d.url = strings.Replace(d.url, "http:", "https:", 1)
	as := func(p *fixtures.CertificatePair) *http.Client {
		transport := &http.Transport{TLSClientConfig: p.Client(t), ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 20 * time.Second}
	}
	anonymous, arena := as(nil), as(fixtures.IssueCertificate(t, "arena-1", files["ca"]))
	admin, err := client.New(d.url, client.Options{Token: h.token("root", auth.ScopeAdmin), HTTP: anonymous})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	key, err := admin.CreateKey(t.Context(), client.KeyRequest{Name: "arena"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateBoard(t.Context(),
		client.BoardRequest{Board: "vouched", Require: []string{"attestation"}}); err != nil {
		t.Fatal(err)
	}
	signed := func(event, secret string) string {
		r := wire.IncrementRequest{UserID: "alice", Delta: 7, EventID: event, Board: "vouched"}
		client.Signer{KeyID: key.KeyID, Secret: secret}.Fields(&r, time.Now())
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const rows = `select (select count(*) from users) + (select count(*) from scores)
	+ (select count(*) from user_score_histories)
+ (select count(*) from outbox_score_updates)`
	server := "Bearer " + h.token("game", auth.ScopeUpdate)
	for _, c := range []struct {
		name   string
		by     *http.Client
		bearer string
		body   string
		status int // 0: rejected in the TLS handshake
		code   string
	}{
		{"no certificate", anonymous, server, signed("e", key.Secret), 422, "rule_violated"},
		{"no credentials", anonymous, "", signed("e", key.Secret), 401, "unauthorized"},
		{
			"another name", as(fixtures.IssueCertificate(t, "arena-2", files["ca"])), "", signed("e", key.Secret), 401,
			"unauthorized",
		},
		{
			"another name with a token",
			as(fixtures.IssueCertificate(t, "arena-2", files["ca"])), server, signed("e", key.Secret),
			422, "rule_violated",
		},
		{
			"another CA of the same name", as(fixtures.IssueCertificate(t, "arena-1", files["other"])), server,
			signed("e", key.Secret), 0, "",
		},
		{
			"self-signed certificate",
			as(fixtures.IssueCertificate(t, "arena-1", nil)), server, signed("e", key.Secret), 0, "",
		},
		{"wrong signature", arena, "", signed("e", "sk_wrong"), 401, "invalid_signature"},
	} {
		status, header, e, err := postBy(t, c.by, d.url+"/v1/scores/increment", c.bearer, "application/json", c.body)
		if status != c.status || e.ErrorCode != c.code || (c.status == 0) != (err != nil) {
			t.Errorf("%s: got %d %+v, %v, want %d %s", c.name, status, e, err, c.status, c.code)
		}
		if c.status != 0 && (e.Message == "" || e.RequestID == "" || e.RequestID != header.Get("X-Request-Id")) {
			t.Errorf("%s: the rejection is %+v", c.name, e)
		}
	}
	if n := h.sql(rows); n != 0 {
		t.Errorf("the rejected requests wrote %d rows", n)
	}
	good := func() {
		status, _, e, err := postBy(t, arena, d.url+"/v1/scores/increment", "", "application/json",
			signed("e", key.Secret))
		if err != nil {
			t.Fatal(err)
		}
		if status != http.StatusOK {
			t.Errorf("the certificate of arena-1: got %d %+v", status, e)
		}
	}
	for path, want := range map[string]int{
		"/v1/realtime/token?board=vouched":  http.StatusForbidden, // it would outlive the authority
		"/v1/leaderboard/top?board=vouched": http.StatusOK,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := arena.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, res.StatusCode, want)
		}
	}
	good()
	good() // a repeat
	if n := h.sql(
		`select count(*) from user_score_histories where board_id = 'vouched' and user_id = 'alice'
		and new_score = 7 and signer = 'arena-1' and key_id = '` + key.KeyID + `'`,
	); n != 1 {
		t.Errorf("got %d ledger rows signed by arena-1, want 1", n)
	}
	if n := h.sql(`select count(*) from user_score_histories`); n != 1 {
		t.Errorf("got %d rows in the ledger, want 1", n)
	}

	// Without their authority, open streams and connections end, too.
	stream, socket := make(chan struct{}), make(chan struct{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/v1/realtime/leaderboard", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	arena.Timeout = 0
	events, err := arena.Do(req) //nolint:bodyclose // closed in the goroutine
	if err != nil || events.StatusCode != http.StatusOK {
		t.Fatalf("an event stream of arena-1: got %v, %v", events, err)
	}
	go func() {
		defer close(stream)
		_, _ = io.Copy(io.Discard, events.Body) // until the connection breaks
		_ = events.Body.Close()
	}()
	dialer := websocket.Dialer{TLSClientConfig: fixtures.IssueCertificate(t, "arena-1", files["ca"]).Client(t)}
	ws, answer, err := dialer.DialContext(t.Context(),
		strings.Replace(d.url, "https:", "wss:", 1)+"/v1/realtime/leaderboard", nil)
	if err != nil {
		t.Fatalf("a WebSocket of arena-1: got %v, %v", answer, err)
	}
	defer func() { _ = answer.Body.Close() }()
	defer func() { _ = ws.Close() }()
	go func() {
		defer close(socket)
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				return
			}
		}
	}()
	removed := time.Now()
	fixtures.WriteCertificate(t, path("ca"), files["other"].CertPEM)
	for name, ended := range map[string]chan struct{}{"event stream": stream, "WebSocket": socket} {
		select {
		case <-ended:
			t.Logf("the %s ended after %s", name, time.Since(removed))
		case <-time.After(time.Minute):
			t.Errorf("the %s is open a minute after its authority was removed", name)
		}
	}
	if status, _, e, err := postBy(t, arena, d.url+"/v1/scores/increment", "", "application/json",
		signed("e", key.Secret)); err == nil {
		t.Errorf("a certificate of a removed authority: got %d %+v", status, e)
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
}
