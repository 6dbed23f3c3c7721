package auth_test

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func streamTokens(t *testing.T, master string, rdb *redis.Client, now func() time.Time) *auth.StreamTokens {
	t.Helper()
	tokens, err := auth.NewStreamTokens([]string{strings.Repeat(master, 32)}, rdb, now)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestStreamTokens(t *testing.T) {
	t.Parallel()
	rdb := backends.RedisClient(t, backends.Redis(t))
	here, there := streamTokens(t, "0f", rdb, time.Now), streamTokens(t, "0f", rdb, time.Now)
	who := alice(time.Hour)
	issue := func(who *auth.Claims) string {
		t.Helper()
		token, expires, err := here.Issue(t.Context(), who, "global")
		if ttl := time.Until(expires); err != nil || ttl > auth.StreamTokenTTL ||
			ttl < min(time.Until(who.Expires), auth.StreamTokenTTL)-2*time.Second {
			t.Fatalf("a token expires in %s, %v", ttl, err)
		}
		return token
	}
	token := issue(who)
	parts := strings.Split(token, ".")
	claims := map[string]any{}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims["scope"] != "ws_conn" ||
		claims["sub"] != "alice" {
		t.Fatalf("the claims: got %s, %v, want the scope ws_conn and the sub", payload, err)
	}
	key, err := hex.DecodeString(strings.Repeat("0f", 32))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(key any, typ string, edit func(jwt.MapClaims)) string {
		c := jwt.MapClaims(maps.Clone(claims))
		edit(c)
		made := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
		made.Header["typ"] = typ
		text, err := made.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	same := func(jwt.MapClaims) {}
	own := auth.NewTokens("a secret of the tests", "scoreboard", "scoreboard-stream", time.Now)
	bearer, _, err := own.Mint("alice", auth.ScopeJoin, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ticket, _, err := auth.NewTickets(rdb, time.Now).Issue(t.Context(), who, "global")
	if err != nil {
		t.Fatal(err)
	}
	early := streamTokens(t, "0f", rdb, func() time.Time { return time.Now().Add(-10 * time.Minute) })
	forgotten := issue(who)
	before := rdb.Keys(t.Context(), "sb:stream-token:*").Val()
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	rejected := map[string]string{
		"empty": "", "of another master key": sign([]byte("another"), "stream+jwt", same),
		"signed with the master key":   sign(key, "stream+jwt", same),
		"another scope's bearer token": bearer,
		"a join ticket":                ticket,
		"its id":                       claims["jti"].(string),
		"without a signature":          parts[0] + "." + parts[1] + ".",
		"another user's claims":        parts[0] + "." + encode(`{"sub":"bob"}`) + "." + parts[2],
		"with a line feed":             token[:30] + "\n" + token[30:],
		"long":                         strings.Repeat("a", 5000),
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "scoreboard stream tokens", sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(jwt.MapClaims){
		"no exp":           func(c jwt.MapClaims) { delete(c, "exp") },
		"no nbf":           func(c jwt.MapClaims) { delete(c, "nbf") },
		"expired":          func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Minute).Unix() },
		"another issuer":   func(c jwt.MapClaims) { c["iss"] = "scoreboard-dev" },
		"another audience": func(c jwt.MapClaims) { c["aud"] = "scoreboard" },
		"never issued":     func(c jwt.MapClaims) { c["jti"] = "x" },
	} {
		rejected[name] = sign(derived, "stream+jwt", edit)
	}
	rejected["another type"] = sign(derived, "JWT", same)
	const address = "198.51.100.1"
	for name, text := range rejected {
		if _, err := here.Redeem(t.Context(), text, "global", address); wire.CodeOf(err) != wire.CodeUnauthorized {
			t.Errorf("%s: got %v, want unauthorized", name, err)
		}
	}
	if _, err := early.Redeem(t.Context(), token, "global", address); wire.CodeOf(err) != wire.CodeUnauthorized {
		t.Errorf("before it was issued: got %v, want unauthorized", err)
	}
	if after := rdb.Keys(t.Context(), "sb:stream-token:*").Val(); len(after) != len(before) {
		t.Errorf("rejected tokens left keys in Redis: %v", after)
	}
	for _, k := range before {
		if strings.Contains(k, parts[2]) || k == "" {
			t.Errorf("Redis holds the token itself: %s", k)
		}
	}
	// It is neither a bearer token nor a join ticket.
	if _, err := own.Verify(t.Context(), token); wire.CodeOf(err) != wire.CodeUnauthorized {
		t.Errorf("as a bearer token: got %v, want unauthorized", err)
	}
	for _, text := range []string{token, claims["jti"].(string)} {
		_, err := auth.NewTickets(rdb, time.Now).Redeem(t.Context(), text, "global", "")
		if wire.CodeOf(err) != wire.CodeUnauthorized {
			t.Errorf("as a join ticket: got %v, want unauthorized", err)
		}
	}
	if _, err := there.Redeem(t.Context(), token, "daily", address); wire.CodeOf(err) != wire.CodeForbidden {
		t.Errorf("for another board: got %v, want forbidden", err)
	}

	redeemConcurrently(t, who, func(i int) (*auth.Claims, error) {
		return []*auth.StreamTokens{here, there}[i%2].Redeem(t.Context(), token, "global", fmt.Sprint("192.0.2.", i))
	})
	rdb.FlushDB(t.Context())
	if _, err := here.Redeem(t.Context(), forgotten, "global", address); wire.CodeOf(err) != wire.CodeUnauthorized {
		t.Errorf("after Redis has lost it: got %v, want unauthorized", err)
	}
	issue(alice(10 * time.Second)) // with its bearer token
	if _, err := auth.NewStreamTokens([]string{"short"}, rdb, time.Now); err == nil {
		t.Error("a short master key is accepted")
	}
}
