package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The key of conformanceNode, which the node creates.
const (
	defaultKey    = "default"
	defaultSecret = "sk_0123456789abcdef0123456789abcdef"
)

// conformanceNode is a node as it is shipped for development: all dialects, each at its
// default, signatures required, a default key, and a rule for any action.
func conformanceNode(t *testing.T, settings ...string) (*harness, *node) {
	t.Helper()
	h := newHarness(t)
	h.settings["auth-signature"] = config.SignatureRequired
	return h, h.start(allRoles, append([]string{
		"transport", "direct", "dialects", strings.Join(config.DialectNames, ","),
		"auth-default-key", defaultKey, "auth-default-key-secret", defaultSecret, "ingest-actions",
		"*:-9007199254740991:9007199254740991",
	}, settings...)...)
}

// specClient sends what a specification says, and checks what it promises.
type specClient struct {
	t    *testing.T
	base string
	auth http.Header // nil: no token
}

// call returns the JSON of a response that must have a status and, in its body, the fields.
func (c specClient) call(method, path, body string, status int, fields ...string) map[string]any {
	c.t.Helper()
	got, _, text := request(c.t, method, c.base+path, body, c.auth)
	if got != status {
		c.t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, got, text, status)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		c.t.Fatalf("%s %s: %s: %v", method, path, text, err)
	}
	for _, name := range fields {
		if out[name] == nil {
			c.t.Errorf("%s %s: %s lacks %s", method, path, text, name)
		}
	}
	return out
}

// A client of specification A: it signs user_id|delta|event_id|timestamp and names no key.
func TestConformsToA(t *testing.T) {
	t.Parallel()
	h, n := conformanceNode(t)
	c := specClient{t, n.URL, bearer(h.token("u1", "", time.Hour))}
	body := func(delta int, event string, at time.Time, secret string) string {
		stamp := at.UTC().Format(time.RFC3339)
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "u1|%d|%s|%s", delta, event, stamp)
		return fmt.Sprintf(`{"user_id":"u1","delta":%d,"event_id":%q,"timestamp":%q,"signature":%q}`, delta,
			event, stamp,
			hex.EncodeToString(mac.Sum(nil)))
	}
	const path, event = "/v1/scores/increment", "0f8fad5b-d9cb-469f-a165-70867728950e"
	now := time.Now()
	for range 2 { // a safe retry
		got := c.call("POST", path, body(123, event, now, defaultSecret), 200)
		if got["user_id"] != "u1" || got["new_score"] != 123.0 || got["processed_event_id"] != event {
			t.Errorf("got %v", got)
		}
	}
	conflict := c.call("POST", path, body(124, event, now, defaultSecret), 409, "error_code", "message")
	if conflict["event_id"] != event {
		t.Errorf("got %v, want the event's id", conflict)
	}
	const other = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	failures := map[string]string{
		"wrong secret": body(1, other, now, "another"), "an hour old": body(1, other, now.Add(-time.Hour),
			defaultSecret),
		"not signed":  strings.Split(body(1, other, now, defaultSecret), `,"signature"`)[0] + "}",
		"unknown key": strings.TrimSuffix(body(1, other, now, defaultSecret), "}") + `,"key_id":"nobody"}`,
	}
	var errors []string
	for _, text := range failures {
		errors = append(errors, fmt.Sprint(c.call("POST", path, text, 401, "error_code")["error_code"]))
	}
	if slices.Sort(errors); len(slices.Compact(errors)) != 1 {
		t.Errorf("failures differ: %v", errors)
	}
	// Without auth.default_key, a signature that names no key fails in the same way.
	bare := h.start("api", "transport", "direct")
	noDefault := specClient{t, bare.URL, c.auth}
	got := fmt.Sprint(noDefault.call("POST", path, body(1, other, now, defaultSecret), 401, "error_code")["error_code"])
	if got != errors[0] {
		t.Errorf("without a default key: got %s, want %s", got, errors[0])
	}
	h.ranked(n, "global", "u1", 123)
	c.call("POST", path, body(123, event, now, defaultSecret), 200, "rank")
	c.call("GET", "/v1/leaderboard/top?limit=10", "", 200, "entries", "updated_at")
	if me := c.call("GET", "/v1/leaderboard/me", "", 200); me["score"] != 123.0 || me["rank"] != 1.0 {
		t.Errorf("got %v", me)
	}
	token := c.call("GET", "/v1/realtime/token", "", 200, "token", "expires_at")["token"]
	ws, _ := dial(t, fmt.Sprintf("%s/v1/realtime/leaderboard?token=%s", n.URL, token), nil)
	if frame := next(t, ws); !strings.HasPrefix(frame, `{"type":"leaderboard.updated"`) {
		t.Errorf("got %s", frame)
	}

	// The default key has no more rights than any other: revoked, it signs nothing.
	if err := n.client("root", auth.ScopeAdmin).RevokeKey(t.Context(), defaultKey); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(awaitTimeout)
	for i := 0; ; i++ {
		signed := body(1, fmt.Sprintf("7c9e6679-7425-40de-944b-%012d", i), time.Now(), defaultSecret)
		status, _, answer := request(t, http.MethodPost, n.URL+path, signed, c.auth)
		if status == http.StatusUnauthorized {
			break
		}
		if status != http.StatusOK || time.Now().After(deadline) {
			t.Fatalf("with a revoked default key: got %d %s, want 401", status, answer)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A client of specification B reads the board without a token, and proves each score by an
// action token; the specification names no route for it. By default an action takes a second at least.
func TestConformsToB(t *testing.T) {
	t.Parallel()
	h, n := conformanceNode(t, "limit-updates-per-minute", "0")
	c := specClient{t, n.URL, bearer(h.token("user_123", "", time.Hour))}
	c.auth.Set("X-Request-ID", "request-1")
	c.auth.Set("X-Idempotency-Key", "match-uuid-123")
	token := n.startAction(t, "user_123", `{"action_id":"match-uuid-123"}`)
	update := func(score int) string {
		return fmt.Sprintf(`{"action_id":"match-uuid-123","action_token":%q,"new_score":%d,`+
			`"timestamp":"2026-02-02T10:30:00Z"}`, token, score)
	}
	const path = "/v1/scores/update"
	c.call("POST", path, update(12345), 403, "error") // at once
	h.await("the action to be long enough", func() bool {
		status, _, _ := request(t, "POST", n.URL+path, update(12345), c.auth)
		return status == http.StatusOK
	})
	again := c.call("POST", path, update(12345), 200)["data"].(map[string]any)
	if again["score"] != 12345.0 || again["update_applied"] != false || again["player_id"] != "user_123" {
		t.Errorf("got %v", again)
	}
	if e := c.call("POST", path, update(1), 409)["error"].(map[string]any); e["code"] != "DUPLICATE_ACTION" {
		t.Errorf("got %v", e)
	}
	h.ranked(n, "highscore", "user_123", 12345)
	data := specClient{t, n.URL, nil}.call("GET", "/v1/leaderboard?n=10", "", 200)["data"].(map[string]any)
	if rows := data["entries"].([]any); len(rows) != 1 || data["top_n"] != 10.0 {
		t.Errorf("got %v", data)
	}
	mine := c.call("GET", "/v1/scores/me/rank?k=5", "", 200)["data"].(map[string]any)
	if mine["global_rank"] != 1.0 || mine["percentile"] == nil || len(mine["neighbors"].([]any)) != 1 {
		t.Errorf("got %v", mine)
	}
	specClient{t, n.URL, nil}.call("GET", "/v1/scores/me/rank", "", 401)
	jwtInQuery := h.token("user_123", "", time.Hour)
	ws, _ := dial(t, n.URL+"/v1/ws/leaderboard?token="+jwtInQuery, nil)
	if frame := next(t, ws); !strings.HasPrefix(frame, `{"type":"LEADERBOARD_UPDATE","data":{"entries":[{`) {
		t.Errorf("got %s", frame)
	}
}

// Clients of specification C: a user, and a game server that has no token but signs the
// userId, the scoreDelta and the actionId.
func TestConformsToC(t *testing.T) {
	t.Parallel()
	game := fixtures.Ed25519(t)
	h, n := conformanceNode(t, "auth-attestation-jwks-url", game.URL, "auth-jwks-networks", "127.0.0.0/8")
	const user = "6fa459ea-ee8a-3ca4-894e-db77e160355e"
	c := specClient{t, n.URL + "/delta", bearer(h.token(user, "", time.Hour))}
	now := time.Now().UTC()
	update := func(delta int, action string, at time.Time, jws string) string {
		return fmt.Sprintf(`{"userId":%q,"scoreDelta":%d,"actionId":%q,"timestamp":%q,"signature":%q}`, user,
			delta, action,
			at.Format(time.RFC3339), jws)
	}
	const path = "/v1/score/update"
	for range 2 {
		body := strings.Replace(update(10, "a1", now, ""), `,"signature":""`, "", 1)
		if got := c.call("POST", path, body, 200); got["newScore"] != 10.0 || len(got) != 1 {
			t.Errorf("got %v", got)
		}
	}
	jws := game.Sign(t, jwt.MapClaims{"userId": user, "scoreDelta": 5, "actionId": "a2"})
	server := specClient{t, n.URL + "/delta", nil}
	for range 2 {
		if got := server.call("POST", path, update(5, "a2", now, jws), 200); got["newScore"] != 15.0 {
			t.Errorf("got %v", got)
		}
	}
	later := game.Sign(t, jwt.MapClaims{"userId": user, "scoreDelta": 5, "actionId": "a3"})
	server.call("POST", path, update(5, "a3", now.AddDate(0, -3, 0), later), 400) // longer ago than repeats are known
	server.call("POST", path, update(5, "a3", now.Add(time.Hour), later), 400)
	server.call("POST", path, update(6, "a2", now, jws), 401)
	server.call("POST", path, update(5, "a4", now, ""), 401)
	h.ranked(n, "delta", user, 15)
	top := server.call("GET", "/v1/leaderboard/top?n=10", "", 200, "asOf")["top"].([]any)
	if row := top[0].(map[string]any); len(top) != 1 || row["userId"] != user || row["score"] != 15.0 {
		t.Errorf("got %v", top)
	}
	c.call("GET", "/v1/users/"+user+"/score", "", 200, "score")
	token := c.call("POST", "/v1/leaderboard/ws-token", "", 200)["token"]
	for range 2 { // the client reconnects
		ws, _ := dial(t, fmt.Sprintf("%s/delta/v1/leaderboard/ws?token=%s", n.URL, token), nil)
		if frame := next(t, ws); !strings.HasPrefix(frame, `{"type":"leaderboard_update","top":[{"rank":1,`) {
			t.Errorf("got %s", frame)
		}
	}
}

// A client of specification D sends an action, once; a duplicate is not another one.
func TestConformsToD(t *testing.T) {
	t.Parallel()
	h, n := conformanceNode(t)
	c := specClient{t, n.URL, bearer(h.token("u1", "", time.Hour))}
	update := func(points, at string) string {
		return `{"userId":"u1","actionId":"quest","scoreIncrement":` + points + `,"timestamp":"` + at + `"}`
	}
	const path = "/api/v1/scores/update"
	got := c.call("POST", path, update("5", "2026-02-02T10:30:00.001Z"), 200, "rank")
	row := map[string]any{"userId": "u1", "username": "u1", "score": 5.0, "rank": 1.0}
	if rows := got["leaderboard"].([]any); got["newScore"] != 5.0 || fmt.Sprint(rows[0]) != fmt.Sprint(row) {
		t.Errorf("got %v", got)
	}
	c.call("POST", path, update("5", "2026-02-02T10:30:00.002Z"), 400) // pressed twice
	c.call("POST", path, update("6", "2026-02-02T10:30:00.003Z"), 200)
	c.call("POST", path, update(`"5"`, "2026-02-02T10:30:00.004Z"), 400)
	specClient{t, n.URL, bearer(h.token("u2", "", time.Hour))}.call("POST", path, update("5",
		"2026-02-02T10:31:00Z"), 403)
	specClient{t, n.URL, nil}.call("POST", path, update("5", "2026-02-02T10:30:00Z"), 401)
}

// A client of specification E submits scores, of which the highest stays.
func TestConformsToE(t *testing.T) {
	t.Parallel()
	h, n := conformanceNode(t)
	c := specClient{t, n.URL, bearer(h.token("123", "", time.Hour))}
	for _, score := range []string{"4500", "4000"} {
		got := c.call("POST", "/scores", `{"score":`+score+`}`, 200, "updatedAt")
		if got["userId"] != 123.0 || got["score"] != 4500.0 || got["rank"] != 1.0 {
			t.Errorf("got %v", got)
		}
	}
	h.ranked(n, "plain", "123", 4500)
	status, _, top := request(t, "GET", n.URL+"/leaderboard/top", "", c.auth)
	if status != 200 || stable(top) != `[{"userId":123,"nickName":"123","score":4500,"rank":1,"updatedAt":"TIME"}]` {
		t.Errorf("got %d %s", status, top)
	}
	c.call("GET", "/leaderboard/123", "", 200, "userId", "score", "rank", "updatedAt")
	specClient{t, n.URL, nil}.call("POST", "/scores", `{"score":1}`, 401)
}
