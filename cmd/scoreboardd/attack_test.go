package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// identity is a provider that signs with RS256, as most do.
type identity struct {
	t      *testing.T
	server *httptest.Server
	key    *rsa.PrivateKey
	reads  atomic.Int64
}

// keySet is what the publisher of one key serves.
func keySet(t testing.TB, key any, o jwkset.JWKMetadataOptions) []byte {
	t.Helper()
	jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{Metadata: o})
	if err != nil {
		t.Fatal(err)
	}
	set := jwkset.NewMemoryStorage()
	if err := set.KeyWrite(t.Context(), jwk); err != nil {
		t.Fatal(err)
	}
	body, err := set.JSONPublic(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func newIdentity(t *testing.T) *identity {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &identity{t: t, key: key}
	body := keySet(t, key.Public(), jwkset.JWKMetadataOptions{KID: "k", ALG: jwkset.AlgRS256, USE: jwkset.UseSig})
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.reads.Add(1)
		_, _ = w.Write(body)
	}))
	t.Cleanup(p.server.Close)
	return p
}

// token is one of user with a scope, edited before it is signed with key.
func (p *identity) token(user, scope string, method jwt.SigningMethod, key any, edit func(header map[string]any, claims jwt.MapClaims)) string {
	p.t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{
		"sub": user, "scope": scope, "iss": "scoreboard-dev", "aud": "scoreboard",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = "k"
	if edit != nil {
		edit(token.Header, claims)
	}
	text, err := token.SignedString(key)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

func (p *identity) good(user, scope string) string {
	return p.token(user, scope, jwt.SigningMethodRS256, p.key, nil)
}

// attack is one request and the answer that it must get.
type attack struct {
	name   string
	method string
	path   string
	token  string // of Authorization; "" is none
	body   string
	header map[string]string
	status int
	code   string
}

// Every known way to be who one is not, to say what was not signed, and to
// reach what is another's, with the answer that it gets. What is done with
// tickets is in server/join_test.go, what is done to every route of the table in
// server/api/routes_test.go.
func TestAttacks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p, thief := newIdentity(t), newIdentity(t)
	h.env = append(h.env, "SCOREBOARD_AUTH_JWT_SECRET=", "SCOREBOARD_AUTH_JWKS_URL="+p.server.URL,
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
	now := time.Now().UTC()
	const increment = "/v1/scores/increment"
	signed := func(edit func(*protocol.IncrementRequest)) string {
		r := protocol.IncrementRequest{UserID: "alice", Delta: 5, EventID: "e1", Timestamp: now.Format(time.RFC3339), KeyID: key.KeyID}
		if edit != nil {
			edit(&r)
		}
		if r.Signature == "" {
			r.Signature = protocol.Sign(key.Secret, r.FieldText())
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	change := func(from, to string) string {
		t.Helper()
		body := strings.Replace(signed(nil), from, to, 1)
		if body == signed(nil) {
			t.Fatalf("%s is not in the body", from)
		}
		return body
	}
	alice := p.good("alice", "")
	der, err := x509.MarshalPKIXPublicKey(p.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	rs := func(edit func(map[string]any, jwt.MapClaims)) string {
		return p.token("alice", "", jwt.SigningMethodRS256, p.key, edit)
	}
	claim := func(name string, value any) string {
		return rs(func(_ map[string]any, c jwt.MapClaims) { c[name] = value })
	}
	parts := strings.Split(alice, ".")
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	var attacks []attack
	tokens := func(name, token string) {
		attacks = append(attacks, attack{
			name: name, method: "POST", path: increment, token: token, body: signed(nil), status: 401, code: "unauthorized",
		})
	}
	tokens("no token", "")
	tokens("alg none", p.token("alice", "", jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil))
	tokens("alg none with the signature left", part(`{"alg":"none","kid":"k"}`)+"."+parts[1]+"."+parts[2])
	tokens("alg nOnE", part(`{"alg":"nOnE","kid":"k"}`)+"."+parts[1]+".")
	tokens("RS256 to HS256 by the public key", p.token("alice", "", jwt.SigningMethodHS256, public, nil))
	tokens("RS256 to HS256 by its DER", p.token("alice", "", jwt.SigningMethodHS256, der, nil))
	tokens("HS256 by an empty secret", p.token("alice", "", jwt.SigningMethodHS256, []byte{}, nil))
	tokens("HS256 by the development secret", p.token("alice", "", jwt.SigningMethodHS256, []byte(jwtSecret), nil))
	tokens("PS256", p.token("alice", "", jwt.SigningMethodPS256, p.key, nil))
	tokens("another's key", p.token("alice", "", jwt.SigningMethodRS256, thief.key, nil))
	tokens("jku", p.token("alice", "", jwt.SigningMethodRS256, thief.key, func(h map[string]any, _ jwt.MapClaims) { h["jku"], h["kid"] = thief.server.URL, "t" }))
	tokens("jwk", p.token("alice", "", jwt.SigningMethodRS256, thief.key, func(h map[string]any, _ jwt.MapClaims) { h["jwk"] = map[string]any{"kty": "RSA", "kid": "k"} }))
	tokens("x5u", p.token("alice", "", jwt.SigningMethodRS256, thief.key, func(h map[string]any, _ jwt.MapClaims) { h["x5u"] = thief.server.URL }))
	tokens("crit", rs(func(h map[string]any, _ jwt.MapClaims) { h["crit"] = []string{"exp"} }))
	tokens("a kid that is a path", rs(func(h map[string]any, _ jwt.MapClaims) { h["kid"] = "../../../dev/null" }))
	tokens("a kid that is SQL", rs(func(h map[string]any, _ jwt.MapClaims) { h["kid"] = "k' or '1'='1" }))
	tokens("no kid", rs(func(h map[string]any, _ jwt.MapClaims) { delete(h, "kid") }))
	tokens("a type of another kind", rs(func(h map[string]any, _ jwt.MapClaims) { h["typ"] = "logout+jwt" }))
	tokens("expired", claim("exp", now.Add(-time.Minute).Unix()))
	tokens("no exp", rs(func(_ map[string]any, c jwt.MapClaims) { delete(c, "exp") }))
	tokens("not yet", claim("nbf", now.Add(2*time.Minute).Unix()))
	tokens("no nbf", rs(func(_ map[string]any, c jwt.MapClaims) { delete(c, "nbf") }))
	tokens("wrong audience", claim("aud", "another"))
	tokens("no audience", rs(func(_ map[string]any, c jwt.MapClaims) { delete(c, "aud") }))
	tokens("wrong issuer", claim("iss", "another"))
	tokens("a life of a year", claim("exp", now.Add(365*24*time.Hour).Unix()))
	tokens("a sub with the delimiter", claim("sub", "alice|5"))
	tokens("a sub in another alphabet", claim("sub", "аlice")) // the first letter is Cyrillic
	tokens("claims changed", parts[0]+"."+part(`{"sub":"alice","scope":"score:admin"}`)+"."+parts[2])
	tokens("dots", strings.Repeat(".", 4000))
	tokens("5000 bytes", strings.Repeat("a", 5000))
	tokens("a part more", alice+".AAAA")
	attacks = append(attacks, attack{
		name: "a token of 1 MB", method: "POST", path: increment, token: strings.Repeat("a", 1<<20), body: signed(nil), status: 431,
	})

	signature := func(name, body string) {
		attacks = append(attacks, attack{
			name: name, method: "POST", path: increment, token: alice, body: body, status: 401, code: "invalid_signature",
		})
	}
	signature("an unknown key", signed(func(r *protocol.IncrementRequest) { r.KeyID = "k_nobody" }))
	signature("a key id that is a path", signed(func(r *protocol.IncrementRequest) { r.KeyID = "../../etc/passwd" }))
	signature("a key id that is SQL", signed(func(r *protocol.IncrementRequest) { r.KeyID = "'; drop table keys; --" }))
	signature("a key id of zeros", signed(func(r *protocol.IncrementRequest) { r.KeyID = "\x00" }))
	signature("no signature", strings.Replace(signed(nil), `"signature":`, `"action":"x","attestation":`, 1))
	signature("an empty signature", strings.Replace(signed(nil), signatureOf(signed(nil)), "", 1))
	signature("a signature cut short", strings.Replace(signed(nil), signatureOf(signed(nil)), signatureOf(signed(nil))[:32], 1))
	signature("a signature of another event", strings.Replace(signed(nil), `"e1"`, `"e2"`, 1))
	signature("a changed delta", change(`"delta":5`, `"delta":6`))
	signature("a changed board", change(`"timestamp"`, `"board":"global","timestamp"`))
	signature("a changed action", change(`"timestamp"`, `"action":"walk","timestamp"`))
	signature("another spelling of the time", change("Z\"", "+00:00\""))
	signature("a replay after its minute", signed(func(r *protocol.IncrementRequest) { r.Timestamp = now.Add(-90 * time.Second).Format(time.RFC3339) }))
	signature("a time ahead", signed(func(r *protocol.IncrementRequest) { r.Timestamp = now.Add(5 * time.Minute).Format(time.RFC3339) }))
	// The board as the action: the signed text has an empty board part, so the
	// delimiter cannot move.
	signature("board and action swapped", signed(func(r *protocol.IncrementRequest) {
		r.Board = "global"
		r.Signature = protocol.Sign(key.Secret, (&protocol.IncrementRequest{
			UserID: r.UserID, Delta: r.Delta, EventID: r.EventID, Timestamp: r.Timestamp, Action: "global",
		}).FieldText())
	}))
	attacks = append(attacks, attack{
		name: "a changed user", method: "POST", path: increment, token: p.good("bob", ""), body: change(`"alice"`, `"bob"`),
		status: 401, code: "invalid_signature",
	})
	body := signed(nil)
	stamp := now.Format("20060102") // no Unix seconds
	attacks = append(attacks,
		attack{
			name: "a header signature of another path", method: "POST", path: increment, token: alice, body: body, status: 401, code: "invalid_signature",
			header: header(key, "POST", "/v1/scores/increments", body, now),
		},
		attack{
			name: "a header signature of another method", method: "POST", path: increment, token: alice, body: body, status: 401, code: "invalid_signature",
			header: header(key, "PUT", increment, body, now),
		},
		attack{
			name: "a header signature of another body", method: "POST", path: increment, token: alice, body: body, status: 401, code: "invalid_signature",
			header: header(key, "POST", increment, body+" ", now),
		},
		attack{
			name: "a header signature with a query added", method: "POST", path: increment + "?a=1", token: alice, body: body, status: 401, code: "invalid_signature",
			header: header(key, "POST", increment, body, now),
		},
		attack{
			name: "an old header signature", method: "POST", path: increment, token: alice, body: body, status: 401, code: "invalid_signature",
			header: header(key, "POST", increment, body, now.Add(-2*time.Minute)),
		},
		attack{
			name: "a time of no kind in the header", method: "POST", path: increment, token: alice, body: body, status: 401, code: "invalid_signature",
			header: map[string]string{protocol.HeaderKey: key.KeyID, protocol.HeaderTimestamp: stamp + "x", protocol.HeaderSignature: "v1=00"},
		},
		attack{
			name: "a signature of another version", method: "POST", path: increment, token: alice, body: body, status: 401, code: "invalid_signature",
			header: map[string]string{protocol.HeaderKey: key.KeyID, protocol.HeaderTimestamp: "1", protocol.HeaderSignature: "v0=00"},
		})

	// What is signed reads one way only.
	forms := func(name, body string, status int, code string) {
		attacks = append(attacks, attack{name: name, method: "POST", path: increment, token: alice, body: body, status: status, code: code})
	}
	for name, delta := range map[string]string{
		"05": "05", "+5": "+5", "5.0": "5.0", "5e0": "5e0", "0x5": "0x5", "text": `"5"`, "-0": "-0", "Arabic digits": "٥", "full-width digits": "５", "null": "null", "true": "true",
	} {
		forms("a delta as "+name, change(`"delta":5`, `"delta":`+delta), 400, "invalid_request")
	}
	forms("a delta of 2^53", change(`"delta":5`, `"delta":9007199254740992`), 422, "delta_out_of_range")
	forms("a delta of 2^64 + 5", change(`"delta":5`, `"delta":18446744073709551621`), 422, "delta_out_of_range")
	forms("the delta twice", change(`"delta":5`, `"delta":5,"delta":500`), 400, "invalid_request")
	forms("the delta twice, once escaped", change(`"delta":5`, `"delta":5,"\u0064elta":500`), 400, "invalid_request")
	forms("a field in capitals", change(`"delta":5`, `"Delta":5`), 400, "invalid_request")
	forms("the delimiter in the event", change(`"e1"`, `"e|1"`), 400, "invalid_request")
	forms("the delimiter in the time", change(`"timestamp":"`, `"timestamp":"|`), 400, "invalid_request")
	forms("the delimiter in the action", change(`"timestamp"`, `"action":"a|b","timestamp"`), 400, "invalid_request")
	forms("the delimiter in the board", change(`"timestamp"`, `"board":"a|b","timestamp"`), 400, "invalid_request")
	forms("a comma in the board", change(`"timestamp"`, `"board":"a,b","timestamp"`), 400, "invalid_request")
	forms("a user in another alphabet", change(`"alice"`, `"аlice"`), 400, "invalid_request")
	forms("a user with a zero", change(`"alice"`, `"alice\u0000"`), 400, "invalid_request")
	for _, field := range []string{"version", "score", "new_score", "rank", "recorded_at", "applied", "replayed", "key", "source", "hidden", "status"} {
		forms("mass assignment of "+field, change(`"delta":5`, `"delta":5,"`+field+`":1`), 400, "invalid_request")
	}
	forms("a bomb of brackets", strings.Repeat("[", 4000), 400, "invalid_request")
	forms("more than 4 KiB", change(`"alice"`, `"`+strings.Repeat("a", 5000)+`"`), 413, "payload_too_large")

	request := func(name, method, path, token, body string, status int, code string) {
		attacks = append(attacks, attack{name: name, method: method, path: path, token: token, body: body, status: status, code: code})
	}
	mallory, server := p.good("mallory", ""), p.good("game", auth.ScopeUpdate)
	request("an increment for another", "POST", increment, mallory, signed(nil), 403, "forbidden")
	request("another's event", "GET", "/v1/events/theirs?user_id=alice", mallory, "", 403, "forbidden")
	request("another's event id as one's own", "GET", "/v1/events/theirs", mallory, "", 404, "not_found")
	request("another's statement", "GET", "/v1/users/alice/statement", mallory, "", 403, "forbidden")
	request("another's statement with score:update", "GET", "/v1/users/alice/statement", server, "", 403, "forbidden")
	request("another's profile", "PUT", "/v1/users/alice/profile", mallory, `{"display_name":"x"}`, 403, "forbidden")
	request("an action for another", "POST", "/v1/actions", mallory, `{"user_id":"alice"}`, 403, "forbidden")
	request("a batch without its scope", "POST", "/v1/scores/increments", alice, `{"items":[]}`, 403, "forbidden")
	request("a key by score:update", "POST", "/v1/admin/keys", server, `{"name":"mine"}`, 403, "forbidden")
	request("a user's id that is a path", "GET", "/v1/users/..%2f..%2fadmin%2fkeys/score", alice, "", 400, "invalid_request")
	request("a path that climbs", "GET", "/v1/users/../admin/keys", alice, "", 404, "not_found")
	request("SQL in a board", "GET", "/v1/leaderboard/top?board=%27%3B+drop+table+boards%3B--", alice, "", 400, "invalid_request")
	request("SQL in a cursor", "GET", "/v1/leaderboard/top?cursor=%27or%201=1", alice, "", 400, "invalid_request")
	root := p.good("root", auth.ScopeAdmin)
	request("a key's secret of one's own", "POST", "/v1/admin/keys", root, `{"name":"x","secret":"sk_mine"}`, 400, "invalid_request")
	request("a key's name twice", "POST", "/v1/admin/keys", root, `{"name":"x","name":"y"}`, 400, "invalid_request")
	request("a key's name in capitals", "POST", "/v1/admin/keys", root, `{"NAME":"x"}`, 400, "invalid_request")
	request("a token by the development issuer", "POST", "/v1/admin/tokens", root, `{"user_id":"alice"}`, 404, "not_found")
	upgrade := map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	}
	for name, origin := range map[string]string{
		"a foreign": "https://evil.example", "a longer": "https://game.example.evil.example", "a null": "null", "another scheme's": "http://game.example",
		"another port's": "https://game.example:8443", "a subdomain's": "https://a.game.example",
	} {
		with := map[string]string{"Origin": origin}
		for k, v := range upgrade {
			with[k] = v
		}
		attacks = append(attacks, attack{
			name: "a WebSocket from " + name + " origin", method: "GET", path: "/v1/realtime/leaderboard", token: alice, header: with, status: 403, code: "forbidden",
		})
	}

	// The others vary this one. Its event is alice's from now on. What it says of
	// where it comes from is not a client's to say: the proxy that is trusted is
	// another.
	made := map[string]string{
		"CF-IPCountry": "DE", "X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1", "X-Real-IP": "192.0.2.1",
		"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example", "X-Forwarded-Client-Cert": `Subject="CN=game"`, "X-Client-Verify": "SUCCESS", "X-Client-S-DN": "CN=game",
	}
	theirs := attack{method: "POST", path: increment, token: alice, header: made, body: signed(func(r *protocol.IncrementRequest) { r.EventID = "theirs" })}
	if status, _ := send(t, d.url, &theirs); status != 200 {
		t.Fatalf("the good request: got %d", status)
	}
	if n := h.sql(`select count(*) from user_score_histories where address <> '127.0.0.1' or country is not null`); n != 0 {
		t.Error("a made-up address or country is believed")
	}
	attacks = append(attacks, attack{
		name: "a certificate that a header claims", method: "POST", path: "/v1/scores/increments", body: `{"items":[]}`, header: made, status: 401, code: "unauthorized",
	})
	const rows = `select (select count(*) from users) + (select count(*) from scores) + (select count(*) from user_score_histories)
+ (select count(*) from outbox_score_updates) + (select count(*) from keys) + (select count(*) from boards)`
	before := h.sql(rows)
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			status, answer := send(t, d.url, &a)
			var e protocol.Error
			if a.code != "" {
				if err := json.Unmarshal(answer, &e); err != nil {
					t.Errorf("the answer %q: %v", answer, err)
				}
			}
			if status != a.status || e.ErrorCode != a.code {
				t.Errorf("got %d %s, want %d %s", status, answer, a.status, a.code)
			}
			if bytes.Contains(answer, []byte(key.Secret)) {
				t.Errorf("the answer tells the secret: %s", answer)
			}
		})
	}
	if after := h.sql(rows); after != before {
		t.Errorf("the attacks changed %d rows", after-before)
	}
	if n := thief.reads.Load(); n != 0 {
		t.Errorf("keys were read %d times from where a token said", n)
	}
	if n := p.reads.Load(); n > 10 {
		t.Errorf("the provider was read %d times", n)
	}
	unknown, wrong := answerTo(t, d.url, alice, signed(func(r *protocol.IncrementRequest) { r.KeyID = "k_nobody" })),
		answerTo(t, d.url, alice, signed(func(r *protocol.IncrementRequest) { r.Signature = strings.Repeat("00", 32) }))
	if unknown != wrong {
		t.Errorf("an unknown key is answered with %s, a wrong signature with %s: they can be told apart", unknown, wrong)
	}
	_, metrics := send(t, d.ops, &attack{method: "GET", path: "/metrics"})
	if !bytes.Contains(metrics, []byte("scoreboard_api_request_seconds")) {
		t.Errorf("these are no metrics: %.200s", metrics)
	}
	if n := h.sql(`select count(*) from key_secrets`); n != 1 {
		t.Errorf("%d secrets are stored, want one", n)
	}
	if n := h.sql(`select count(*) from key_secrets where position(convert_to('` + key.Secret + `', 'UTF8') in sealed) > 0`); n != 0 {
		t.Error("the secret is stored as it is")
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	logs := d.logs.String()
	for what, secret := range map[string]string{"a signing secret": key.Secret, "a token": alice, "the master key": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"} {
		if strings.Contains(logs, secret) || bytes.Contains(metrics, []byte(secret)) {
			t.Errorf("the log or a metric holds %s", what)
		}
	}
}

// answerTo is what a write is answered with, without what differs in every
// answer.
func answerTo(t *testing.T, url, token, body string) string {
	t.Helper()
	_, answer := send(t, url, &attack{method: "POST", path: "/v1/scores/increment", token: token, body: body, header: map[string]string{"X-Request-Id": "same"}})
	return string(answer)
}

func signatureOf(body string) string {
	var r protocol.IncrementRequest
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		panic(err) // our own type
	}
	return r.Signature
}

// header signs what it is given, which need not be what is sent.
func header(key client.Key, method, path, body string, at time.Time) map[string]string {
	r := httptest.NewRequest(method, path, nil) //nolint:noctx // it is only signed
	client.Signer{KeyID: key.KeyID, Secret: key.Secret}.Headers(r, []byte(body), at)
	out := map[string]string{}
	for _, name := range []string{protocol.HeaderKey, protocol.HeaderTimestamp, protocol.HeaderSignature} {
		out[name] = r.Header.Get(name)
	}
	return out
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
