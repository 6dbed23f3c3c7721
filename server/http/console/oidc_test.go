package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hesitant is an identity provider that answers requests for its document as a test says.
type hesitant struct {
	*httptest.Server
	asked  atomic.Int32
	answer atomic.Pointer[func() bool] // false: it fails
}

func newHesitant(t *testing.T) *hesitant {
	t.Helper()
	p := &hesitant{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		if !(*p.answer.Load())() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys",
		})
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *hesitant) set(answer func() bool) { p.answer.Store(&answer) }

// However many people start to sign in while the identity provider does not answer, it is asked once,
// and nobody waits longer than their own request. A provider that fails later is still used.
func TestProviderThatHangsDelaysNobody(t *testing.T) {
	t.Parallel()
	p := newHesitant(t)
	hang := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(hang) })
	t.Cleanup(goOn)
	p.set(func() bool { <-hang; return true })
	now := time.Now()
	var clock atomic.Pointer[time.Time]
	clock.Store(&now)
	i := &issuer{
		of: OIDC{Issuer: p.URL, ClientID: "c"}, origin: &url.URL{Scheme: "https", Host: "ops.example"},
		now: func() time.Time { return *clock.Load() },
	}
	later := func(d time.Duration) { at := i.now().Add(d); clock.Store(&at) }
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := i.client(ctx)
		return err
	}
	began := time.Now()
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if ask() == nil {
				t.Error("a provider that does not answer is known")
			}
		})
	}
	all.Wait()
	if took, n := time.Since(began), p.asked.Load(); took > 5*time.Second || n != 1 {
		t.Errorf("40 people waited %s, and the provider was asked %d times, want once", took, n)
	}
	goOn()
	wait := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	wait("the provider is not known", func() bool { return ask() == nil })
	p.set(func() bool { return false })
	later(2 * providerRetain)
	for range 10 {
		if err := ask(); err != nil {
			t.Errorf("a provider that was known and fails: %v", err)
		}
	}
	wait("the provider is not asked again", func() bool { return p.asked.Load() == 2 })
	wait("the failure is not kept", func() bool { _, _, due := i.known(); return !due })
	if err := ask(); err != nil || p.asked.Load() != 2 {
		t.Errorf("got %v, and the provider was asked %d times, want twice", err, p.asked.Load())
	}
}

// Starting sign-ins counts against a limit, since each may have the provider asked. What another site
// has a browser request starts none: it must neither use up the limit nor replace a sign-in that runs.
func TestSignInsAtTheProviderAreLimited(t *testing.T) {
	t.Parallel()
	p := newHesitant(t)
	p.set(func() bool { return true })
	over, taken := false, 0
	key := make([]byte, 32)
	c, err := New(Options{
		API: http.NotFoundHandler(), Keys: [][]byte{key}, URL: "http://127.0.0.1",
		OIDC: OIDC{Issuer: p.URL, ClientID: "c"},
		Log:  slog.New(slog.DiscardHandler), Now: time.Now,
		Limit: func(*http.Request) time.Duration {
			taken++
			if over {
				return 1500 * time.Millisecond
			}
			return 0
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	started := func(site string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/console/sign-in/oidc", nil)
		r.Header.Set("Sec-Fetch-Site", site)
		c.ServeHTTP(w, r)
		return w
	}
	start := func() *httptest.ResponseRecorder { return started("same-origin") }
	for _, site := range []string{"cross-site", "same-site"} {
		w := started(site)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") == "" || w.Header().Get("Set-Cookie") != "" ||
			!strings.HasPrefix(w.Header().Get("Location"), "/console/sign-in?") {
			t.Errorf("started by another site: got %d %v", w.Code, w.Header())
		}
	}
	if asked, counted := p.asked.Load(), taken; asked != 0 || counted != 0 {
		t.Errorf("other sites: the provider was asked %d times, and %d starts counted", asked, counted)
	}
	if w := start(); w.Code != http.StatusSeeOther {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	over = true
	if w := start(); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "2" {
		t.Errorf("over the limit: got %d, retry after %q", w.Code, w.Header().Get("Retry-After"))
	}
}

// The person of an access token is its claim sub, in this spelling only: the API reads no other.
func TestSubjectIsReadExactly(t *testing.T) {
	t.Parallel()
	for claims, want := range map[string]string{
		`{"sub":"olga"}`: "olga", `{"sub":"eve","SUB":"olga"}`: "eve", `{"Sub":"olga"}`: "", `{"sub":7}`: "",
		`["olga"]`: "", "": "",
	} {
		token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".x"
		if got := subjectOf(token); got != want {
			t.Errorf("%s: got %q, want %q", claims, got, want)
		}
	}
}
