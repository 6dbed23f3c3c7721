package auth_test

import (
	"encoding/base64"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func actionTokens(t testing.TB, master string) *auth.ActionTokens {
	t.Helper()
	tokens, err := auth.NewActionTokens([]string{strings.Repeat(master, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

var run = scoreboard.Action{
	ID: [16]byte{1, 2, 3}, User: "alice", Boards: []scoreboard.BoardID{"arena", "daily"}, Action: "run",
	Issued: noon, Expires: noon.Add(time.Hour), MinTime: 30 * time.Second, MinDelta: -5, MaxDelta: 100,
}

func TestActionTokens(t *testing.T) {
	t.Parallel()
	here, there := actionTokens(t, "0f"), actionTokens(t, "0f")
	token := here.Issue(&run)
	got, err := there.Verify(token)
	if err != nil || !reflect.DeepEqual(*got, run) {
		t.Fatalf("on another node: got %+v, %v, want %+v", got, err, run)
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "at1."))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		bent := append([]byte{}, raw...)
		bent[i] ^= 1
		if _, err := here.Verify(
			"at1." + base64.RawURLEncoding.EncodeToString(bent),
		); wire.CodeOf(
			err,
		) != wire.CodeForbidden {
			t.Fatalf("byte %d changed: got %v, want forbidden", i, err)
		}
	}
	for name, token := range map[string]string{
		"another master key": actionTokens(t, "0e").Issue(&run), "empty": "",
		"prefix only": "at1.", "another version": "at2." + token[4:],
		"padded": token + "==", "cut": token[:40], "long": "at1." + strings.Repeat("A", 5000),
		"a line feed": token[:20] + "\n" + token[20:],
	} {
		if _, err := here.Verify(token); wire.CodeOf(err) != wire.CodeForbidden {
			t.Errorf("%s: got %v, want forbidden", name, err)
		}
	}
	if _, err := auth.NewActionTokens([]string{"short"}); err == nil {
		t.Error("a short master key is accepted")
	}
	longest := run
	longest.User, longest.Action, longest.Boards = scoreboard.UserID(
		strings.Repeat("u", 64),
	), strings.Repeat(
		"a",
		64,
	), nil
	for range scoreboard.MaxBoards {
		longest.Boards = append(longest.Boards, scoreboard.BoardID(strings.Repeat("b", 48)))
	}
	longest.MinDelta, longest.MaxDelta = -scoreboard.MaxScore, scoreboard.MaxScore
	if _, err := here.Verify(here.Issue(&longest)); err != nil {
		t.Errorf("the longest token, of %d bytes: %v", len(here.Issue(&longest)), err)
	}
}

const (
	forbidden  = wire.CodeForbidden
	outOfRange = wire.CodeDeltaOutOfRange
	violated   = wire.CodeRuleViolated
)

func TestActionTokenCoverage(t *testing.T) {
	t.Parallel()
	good := scoreboard.Increment{
		User:   "alice",
		Delta:  100,
		Boards: []scoreboard.BoardID{"arena", "daily"},
		Action: "run",
	}
	for name, c := range map[string]struct {
		edit  func(*scoreboard.Increment)
		after time.Duration
		want  wire.Code
	}{
		"unchanged":         {func(*scoreboard.Increment) {}, time.Minute, ""},
		"minimum duration":  {func(*scoreboard.Increment) {}, 30 * time.Second, ""},
		"too soon":          {func(*scoreboard.Increment) {}, 29 * time.Second, violated},
		"before the start":  {func(*scoreboard.Increment) {}, -time.Hour, violated},
		"too late":          {func(*scoreboard.Increment) {}, time.Hour + 1, violated},
		"minimum delta":     {func(in *scoreboard.Increment) { in.Delta = -5 }, time.Minute, ""},
		"below the minimum": {func(in *scoreboard.Increment) { in.Delta = -6 }, time.Minute, outOfRange},
		"above the maximum": {func(in *scoreboard.Increment) { in.Delta = 101 }, time.Minute, outOfRange},
		"another user":      {func(in *scoreboard.Increment) { in.User = "bob" }, time.Minute, forbidden},
		"another board":     {func(in *scoreboard.Increment) { in.Boards[0] = "lobby" }, time.Minute, forbidden},
		"one of the boards": {func(in *scoreboard.Increment) { in.Boards = in.Boards[:1] }, time.Minute, forbidden},
		"another action":    {func(in *scoreboard.Increment) { in.Action = "kill" }, time.Minute, forbidden},
		"no action":         {func(in *scoreboard.Increment) { in.Action = "" }, time.Minute, forbidden},
	} {
		in := good
		in.Boards = append([]scoreboard.BoardID{}, good.Boards...)
		c.edit(&in)
		err := run.Covers(&in)
		if err == nil {
			if e := run.Objection(&in, noon.Add(c.after)); e != nil {
				err = e
			}
		}
		if wire.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestAttestations(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	game, stranger := edKey(t), edKey(t)
	p.publish("game", game)
	var now atomic.Int64
	keys := p.keySet(&now)
	attestations := auth.NewAttestations(keys)
	attest := func(kid string, key any, claims jwt.MapClaims, edit func(*jwt.Token)) string {
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
		token.Header["kid"] = kid
		if edit != nil {
			edit(token)
		}
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	in := scoreboard.Increment{
		User:   "alice",
		Delta:  5,
		Event:  scoreboard.EventID{Text: "match-1"},
		Boards: []scoreboard.BoardID{"global"},
	}
	claims := func(edit func(jwt.MapClaims)) jwt.MapClaims {
		c := jwt.MapClaims{"user_id": "alice", "delta": 5, "event_id": "match-1", "iat": noon.Unix()}
		if edit != nil {
			edit(c)
		}
		return c
	}
	set := func(name string, value any) jwt.MapClaims { return claims(func(c jwt.MapClaims) { c[name] = value }) }
	const window, year = scoreboard.DefaultWindow, 365 * 24 * time.Hour
	valid := window.Guaranteed()                       // at most
	at := func(iat, exp time.Duration) jwt.MapClaims { // relative to noon; 0: not given
		return claims(func(c jwt.MapClaims) {
			delete(c, "iat")
			for name, d := range map[string]time.Duration{"iat": iat, "exp": exp} {
				if d != 0 {
					c[name] = noon.Add(d).Unix()
				}
			}
		})
	}
	none := jwt.NewWithClaims(jwt.SigningMethodNone, claims(nil))
	none.Header["kid"] = "game"
	unsigned, err := none.SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		jws  string
		want wire.Code
	}{
		"matching":                        {attest("game", game, claims(nil), nil), ""},
		"with the board named":            {attest("game", game, set("board", "global"), nil), ""},
		"with the boards":                 {attest("game", game, set("boards", []string{"global"}), nil), ""},
		"at its expiry":                   {attest("game", game, set("exp", noon.Unix()), nil), ""},
		"expired":                         {attest("game", game, at(-time.Hour, -time.Minute), nil), violated},
		"neither exp nor iat":             {attest("game", game, at(0, 0), nil), violated},
		"exp alone, at the end of window": {attest("game", game, at(0, valid), nil), ""},
		"exp alone, beyond the window":    {attest("game", game, at(0, valid+2*time.Minute), nil), violated},
		"exp in a year, iat now":          {attest("game", game, at(-1, year), nil), ""},
		"exp in a year, old iat":          {attest("game", game, at(-valid-time.Minute, year), nil), violated},
		"iat alone, at the end of window": {attest("game", game, at(-valid, 0), nil), ""},
		"iat alone, before the window":    {attest("game", game, at(-valid-time.Second, 0), nil), violated},
		"iat 30 s ahead":                  {attest("game", game, at(30*time.Second, 0), nil), ""},
		"iat an hour ahead":               {attest("game", game, at(time.Hour, 0), nil), violated},
		"exp beyond all times":            {attest("game", game, set("exp", 1e300), nil), violated},
		"another server's key":            {attest("game", stranger, claims(nil), nil), forbidden},
		"an unknown key":                  {attest("else", stranger, claims(nil), nil), forbidden},
		"alg none":                        {unsigned, forbidden},
		"crit": {attest("game", game, claims(nil),
			func(t *jwt.Token) { t.Header["crit"] = []string{"b64"} }), forbidden},
		"an access token": {attest("game", game, claims(nil),
			func(t *jwt.Token) { t.Header["typ"] = "at+jwt" }), forbidden},
		"its own type": {attest("game", game, claims(nil),
			func(t *jwt.Token) { t.Header["typ"] = "attestation+jwt" }), ""},
		"a field in another case": {attest("game", game, claims(func(c jwt.MapClaims) {
			delete(c, "delta")
			c["DELTA"] = 5
		}), nil), forbidden},
		"a second delta in another case": {attest("game", game, set("DELTA", 6), nil), ""},
		"nbf now":                        {attest("game", game, set("nbf", noon.Unix()), nil), ""},
		"nbf in an hour":                 {attest("game", game, set("nbf", noon.Add(time.Hour).Unix()), nil), violated},
		"another user":                   {attest("game", game, set("user_id", "bob"), nil), forbidden},
		"another delta":                  {attest("game", game, set("delta", 6), nil), forbidden},
		"a delta of 5.5":                 {attest("game", game, set("delta", 5.5), nil), forbidden},
		"no delta": {
			attest("game", game, claims(func(c jwt.MapClaims) { delete(c, "delta") }), nil),
			forbidden,
		},
		"another event": {attest("game", game, set("event_id", "match-2"), nil), forbidden},
		"another board": {attest("game", game, set("board", "arena"), nil), forbidden},
		"more boards":   {attest("game", game, set("boards", []string{"global", "arena"}), nil), forbidden},
		"no boards":     {attest("game", game, set("boards", []string{}), nil), forbidden},
		"an action":     {attest("game", game, set("action", "kill"), nil), forbidden},
		"empty":         {"", forbidden},
		"dots":          {strings.Repeat(".", 1000), forbidden},
		"long":          {strings.Repeat("a", 10_000), forbidden},
	} {
		got, err := attestations.Verify(t.Context(), c.jws, auth.NativeAttestation)
		if err == nil {
			err = got.Covers(&in)
		}
		if err == nil {
			if e := got.Objection(noon, window); e != nil {
				err = e
			}
		}
		if wire.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// An attestation has the subscore of the increment, which is not the same as none.
func TestAttestedSubscores(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	game := edKey(t)
	p.publish("game", game)
	var now atomic.Int64
	attestations := auth.NewAttestations(p.keySet(&now))
	for name, c := range map[string]struct {
		claim     any // nil: none
		submitted *scoreboard.Score
		want      wire.Code
	}{
		"none":                {nil, nil, ""},
		"the same":            {-2, new(scoreboard.Score(-2)), ""},
		"the same, as double": {3.0, new(scoreboard.Score(3)), ""},
		"another":             {2, new(scoreboard.Score(-2)), forbidden},
		"0 in the increment":  {nil, new(scoreboard.Score(0)), forbidden},
		"0 in the claims":     {0, nil, forbidden},
		"a fraction":          {0.5, nil, forbidden},
		"a text":              {"2", new(scoreboard.Score(2)), forbidden},
	} {
		claims := jwt.MapClaims{"user_id": "alice", "delta": 5, "event_id": "match-1", "iat": noon.Unix()}
		if c.claim != nil {
			claims["subscore"] = c.claim
		}
		jws := p.token(jwt.SigningMethodEdDSA, "game", game, func(t *jwt.Token) { t.Claims = claims })
		got, err := attestations.Verify(t.Context(), jws, auth.NativeAttestation)
		if err == nil {
			err = got.Covers(&scoreboard.Increment{
				User: "alice", Delta: 5, Event: scoreboard.EventID{Text: "match-1"},
				Boards: []scoreboard.BoardID{scoreboard.GlobalBoard}, Subscore: c.submitted,
			})
		}
		if wire.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A form changes the names of three claims and the board of an attestation without one;
// claims with the names of the other form say nothing.
func TestAttestationForms(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	game := edKey(t)
	p.publish("game", game)
	var now atomic.Int64
	attestations := auth.NewAttestations(p.keySet(&now))
	form := &auth.AttestationForm{
		User: "userId", Delta: "scoreDelta", Event: "actionId", Action: "action", Board: "arena",
	}
	in := scoreboard.Increment{
		User: "alice", Delta: 5, Event: scoreboard.EventID{Text: "match-1"}, Boards: []scoreboard.BoardID{"arena"},
	}
	for name, c := range map[string]struct {
		edit func(jwt.MapClaims)
		want wire.Code
	}{
		"matching":            {func(jwt.MapClaims) {}, ""},
		"with the board":      {func(c jwt.MapClaims) { c["board"] = "arena" }, ""},
		"another board":       {func(c jwt.MapClaims) { c["board"] = "global" }, forbidden},
		"an action":           {func(c jwt.MapClaims) { c["action"] = "kill" }, forbidden},
		"another delta":       {func(c jwt.MapClaims) { c["scoreDelta"] = 6 }, forbidden},
		"another event":       {func(c jwt.MapClaims) { c["actionId"] = "match-2" }, forbidden},
		"no delta":            {func(c jwt.MapClaims) { delete(c, "scoreDelta") }, forbidden},
		"the native delta":    {func(c jwt.MapClaims) { delete(c, "scoreDelta"); c["delta"] = 5 }, forbidden},
		"a native user, too":  {func(c jwt.MapClaims) { c["user_id"] = "bob" }, ""},
		"only a native user":  {func(c jwt.MapClaims) { delete(c, "userId"); c["user_id"] = "alice" }, forbidden},
		"another user":        {func(c jwt.MapClaims) { c["userId"], c["user_id"] = "bob", "alice" }, forbidden},
		"expired":             {func(c jwt.MapClaims) { c["exp"] = noon.Add(-time.Minute).Unix() }, violated},
		"neither exp nor iat": {func(c jwt.MapClaims) { delete(c, "iat") }, violated},
	} {
		claims := jwt.MapClaims{"userId": "alice", "scoreDelta": 5, "actionId": "match-1", "iat": noon.Unix()}
		c.edit(claims)
		jws := p.token(jwt.SigningMethodEdDSA, "game", game, func(t *jwt.Token) { t.Claims = claims })
		got, err := attestations.Verify(t.Context(), jws, form)
		if err == nil {
			err = got.Covers(&in)
		}
		if err == nil {
			if e := got.Objection(noon, scoreboard.DefaultWindow); e != nil {
				err = e
			}
		}
		if wire.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		got, err = attestations.Verify(t.Context(), jws, auth.NativeAttestation)
		if err == nil && got.User == "alice" && got.Delta == 5 && got.Event == "match-1" {
			t.Errorf("%s: valid in the native form as well", name)
		}
	}
}
