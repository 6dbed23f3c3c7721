package auth_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func TestKeySetRotation(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	older, newer := edKey(t), edKey(t)
	p.publish("older", older)
	var now atomic.Int64
	keys := p.keySet(&now)
	tokens := p.tokens(keys, &now)
	a := p.token(jwt.SigningMethodEdDSA, "older", older, nil)
	b := p.token(jwt.SigningMethodEdDSA, "newer", newer, nil)
	if code := codeOf(tokens, a); code != "" {
		t.Fatalf("the first key: got %q", code)
	}
	p.publish("newer", newer)
	now.Add(int64(6 * time.Second))
	for name, token := range map[string]string{"the new key": b, "the old one beside it": a} {
		if code := codeOf(tokens, token); code != "" {
			t.Errorf("%s: %s", name, code)
		}
	}
	// When a key is withdrawn, cached tokens signed with it become invalid.
	claims, err := tokens.Verify(t.Context(), a) // as in a ticket
	if err != nil || tokens.Recheck(t.Context(), claims) != nil {
		t.Errorf("claims with a valid key: %v, %v", err, tokens.Recheck(t.Context(), claims))
	}
	replaced := *claims
	replaced.Key = strings.Repeat("0", 16) + claims.Key[16:]
	if code := wire.CodeOf(tokens.Recheck(t.Context(), &replaced)); code != wire.CodeUnauthorized {
		t.Errorf("claims by another key of that id: got %q, want unauthorized", code)
	}
	p.withdraw("older")
	now.Add(int64(6 * time.Second))
	if code := codeOf(
		tokens,
		p.token(jwt.SigningMethodEdDSA, "unknown", older, nil),
	); code != wire.CodeUnauthorized {
		t.Fatalf("a key that never existed: got %q", code)
	}
	if code := codeOf(tokens, a); code != wire.CodeUnauthorized {
		t.Errorf("a withdrawn key: got %q, want unauthorized", code)
	}
	if code := wire.CodeOf(tokens.Recheck(t.Context(), claims)); code != wire.CodeUnauthorized {
		t.Errorf("claims with a withdrawn key: got %q, want unauthorized", code)
	}
	if code := codeOf(tokens, b); code != "" {
		t.Errorf("the remaining key: got %q", code)
	}
	if claims, err = tokens.Verify(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	now.Add(int64(2 * time.Hour))
	if code := wire.CodeOf(tokens.Recheck(t.Context(), claims)); code != wire.CodeUnauthorized {
		t.Errorf("expired claims: got %q, want unauthorized", code)
	}
}

func TestUnknownKeyIDsShareOneRead(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	key := edKey(t)
	p.publish("k", key)
	var now atomic.Int64
	keys := p.keySet(&now)
	tokens := p.tokens(keys, &now)
	var callers sync.WaitGroup
	for i := range 200 {
		callers.Go(func() {
			token := p.token(jwt.SigningMethodEdDSA, fmt.Sprintf("unknown-%d", i), key, nil)
			if code := codeOf(
				tokens,
				token,
			); code != wire.CodeUnauthorized &&
				code != wire.CodeUnavailable {
				t.Errorf("an unknown key: got %q", code)
			}
		})
	}
	callers.Wait()
	if n := p.reads.Load(); n != 1 {
		t.Errorf("200 unknown key ids: the key set was read %d times, want once", n)
	}
	if code := codeOf(tokens, p.token(jwt.SigningMethodEdDSA, "k", key, nil)); code != "" {
		t.Errorf("a valid token meanwhile: got %q", code)
	}
	now.Add(int64(6 * time.Second))
	_ = codeOf(tokens, p.token(jwt.SigningMethodEdDSA, "unknown", key, nil))
	if n := p.reads.Load(); n != 2 {
		t.Errorf("after the pause: read %d times, want twice", n)
	}
}

func TestKeySetWhileProviderIsDown(t *testing.T) {
	t.Parallel()
	// set is the provider's set with another key in it. A response that exceeds the
	// bounds must not make that key known.
	type answer func(w http.ResponseWriter, r *http.Request, set string)
	answers := map[string]answer{
		"an error": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.WriteHeader(http.StatusInternalServerError)
		},
		"not JSON": func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = io.WriteString(w, "<html>") },
		"other JSON": func(w http.ResponseWriter, _ *http.Request, _ string) {
			_, _ = io.WriteString(w, `{"error":"later"}`)
		},
		"no usable key": func(w http.ResponseWriter, _ *http.Request, _ string) {
			_, _ = io.WriteString(w, `{"keys":[{"kty":"oct","k":"AA","kid":"k"}]}`)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request, set string) {
			if r.URL.Path == "/elsewhere" {
				_, _ = io.WriteString(w, set)
				return
			}
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		},
		"too large": func(w http.ResponseWriter, _ *http.Request, set string) {
			_, _ = io.WriteString(w, strings.Replace(set, "{", `{"more":"`+strings.Repeat("x", 300<<10)+`",`, 1))
		},
		"too many keys": func(w http.ResponseWriter, _ *http.Request, set string) {
			_, _ = io.WriteString(w, strings.Replace(set, "[", "["+strings.Repeat(`{"kty":"oct"},`, 64), 1))
		},
		"connection closed": func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			key := edKey(t)
			p.publish("k", key)
			var now atomic.Int64
			keys := p.keySet(&now)
			tokens := p.tokens(keys, &now)
			if code := codeOf(tokens, p.token(jwt.SigningMethodEdDSA, "k", key, nil)); code != "" {
				t.Fatalf("while the provider is up: got %q", code)
			}
			p.publish("unknown", key)
			set := string(p.set())
			p.answers(func(w http.ResponseWriter, r *http.Request) { answer(w, r, set) })
			now.Add(int64(6 * time.Second))
			if code := codeOf(
				tokens,
				p.token(jwt.SigningMethodEdDSA, "unknown", key, nil),
			); code != wire.CodeUnauthorized {
				t.Errorf("an unknown key while the provider fails: got %q, want unauthorized", code)
			}
			if n := p.reads.Load(); n < 2 { // the HTTP client retries when the connection is closed
				t.Fatalf("the key set was read %d times, want at least 2", n)
			}
			fresh := p.token(
				jwt.SigningMethodEdDSA,
				"k",
				key,
				func(t *jwt.Token) { t.Claims.(jwt.MapClaims)["jti"] = "2" },
			)
			if code := codeOf(tokens, fresh); code != "" {
				t.Errorf("a known key while the provider fails: got %q", code)
			}
		})
	}
}

func TestKeySetUnavailableAtStart(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	key := edKey(t)
	p.publish("k", key)
	hang := make(chan struct{})
	p.answers(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	var now atomic.Int64
	keys := p.keySet(&now)
	tokens := p.tokens(keys, &now)
	started := time.Now()
	token := p.token(jwt.SigningMethodEdDSA, "k", key, nil)
	if code := codeOf(tokens, token); code != wire.CodeUnavailable {
		t.Errorf("a provider that does not respond: got %q, want unavailable", code)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("a read took %s, want 3 s at most", took)
	}
	close(hang)
	p.answers(nil)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- keys.Run(ctx) }()
	for deadline := time.Now().Add(30 * time.Second); codeOf(tokens, token) != "" && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if code := codeOf(tokens, token); code != "" {
		t.Errorf("after the provider has started: got %q", code)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestKeySetURLChange(t *testing.T) {
	t.Parallel()
	p, next := newProvider(t), newProvider(t)
	a, b := edKey(t), edKey(t)
	p.publish("a", a)
	next.publish("b", b)
	var now atomic.Int64
	keys := p.keySet(&now)
	tokens := p.tokens(keys, &now)
	first, second := p.token(jwt.SigningMethodEdDSA, "a", a, nil), next.token(jwt.SigningMethodEdDSA, "b", b, nil)
	if code := codeOf(tokens, first); code != "" {
		t.Fatal(code)
	}
	if err := keys.SwitchTo(t.Context(), "http://127.0.0.1:1/keys"); err == nil {
		t.Error("an unreachable provider is accepted")
	}
	if code := codeOf(tokens, first); code != "" {
		t.Errorf("after a failed change: got %q", code)
	}
	if err := keys.SwitchTo(t.Context(), next.server.URL); err != nil {
		t.Fatal(err)
	}
	if code := codeOf(tokens, second); code != "" {
		t.Errorf("the new provider: got %q", code)
	}
	if code := codeOf(tokens, first); code != wire.CodeUnauthorized {
		t.Errorf("the former provider: got %q, want unauthorized", code)
	}
}

func TestKeySetURLs(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://id.example.com/keys": true, "http://127.0.0.1:9000/keys": true,
		"http://localhost/keys": true, "http://[::1]/keys": true,
		"http://id.example.com/keys": false, "https://user:pass@id.example.com/": false,
		"file:///etc/passwd": false, "": false,
		"https://": false, "http://169.254.169.254/latest": false, "localhost": false,
	} {
		if err := auth.CheckKeySetURL(address); (err == nil) != want {
			t.Errorf("%q: got %v", address, err)
		}
	}
}

func BenchmarkRS256Uncached(b *testing.B) {
	p := newProvider(b)
	key := rsaKey(b, 2048)
	p.publish("rs", key)
	var now atomic.Int64
	tokens := p.tokens(p.keySet(&now), &now)
	text := make([]string, 1000)
	for i := range text {
		text[i] = p.token(
			jwt.SigningMethodRS256,
			"rs",
			key,
			func(t *jwt.Token) { t.Claims.(jwt.MapClaims)["jti"] = strconv.Itoa(i) },
		)
	}
	i := 0
	for b.Loop() {
		if i%len(text) == 0 { // another policy, so that no token is cached
			tokens.Configure(auth.Policy{Issuer: "iss", Audience: "aud", UserClaim: "sub"})
		}
		if _, err := tokens.Verify(b.Context(), text[i%len(text)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// Members of a key set are read by their exact names.
func TestKeySetNames(t *testing.T) {
	t.Parallel()
	const key = `{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`
	for set, want := range map[string]int{
		`{"keys":[` + key + `}]}`:                                   1,
		`{"keys":[` + key + `,"KID":"b","k":"c2VjcmV0"}]}`:          1,
		`{"keys":[` + key + `}],"KEYS":[]}`:                         1,
		`{"KEYS":[` + key + `}]}`:                                   -1,
		`{"keys":[],"keys":[` + key + `}]}`:                         -1,
		`{"keys":[` + key + `,"kid":"b"}]}`:                         -1,
		`{"keys":[{"KTY":"OKP"` + key[len(`{"kty":"OKP"`):] + `}]}`: -1,
	} {
		got, err := auth.CountKeys([]byte(set))
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%s: got %d, %v, want %d", set, got, err, want)
		}
	}
}

// Some providers want a key in the query of the URL. It appears in no error or log.
func TestKeySetURLIsNotLogged(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://localhost:1/keys?key=SECR3T", "http://127.0.0.1:1/keys?key=SECR3T"} {
		k, err := auth.NewKeySet(address, networksOf(), slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		err = k.Check(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "SECR3T") || !strings.Contains(err.Error(), ":1") {
			t.Errorf("got %v, want an error that names the host only", err)
		}
	}
}
