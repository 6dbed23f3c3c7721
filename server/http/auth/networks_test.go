package auth_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The address is checked when it is dialed, after its name has been resolved.
func TestKeySetAtPrivateAddress(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.publish("k", edKey(t))
	other := networksOf("10.0.0.0/8")
	for _, address := range []string{p.server.URL, strings.Replace(p.server.URL, "127.0.0.1", "localhost", 1)} {
		for name, networks := range map[string]publicnet.Networks{
			"no networks": networksOf(), "another network": other,
		} {
			keys, err := auth.NewKeySet(address, networks, slog.New(slog.DiscardHandler), time.Now)
			if err != nil {
				t.Fatal(err)
			}
			for how, err := range map[string]error{
				"check": keys.Check(t.Context(), address), "switch": keys.SwitchTo(t.Context(), address),
			} {
				if err == nil || !strings.Contains(err.Error(), "auth.jwks_networks") {
					t.Errorf("%s %s with %s: got %v, want an error that names the setting", how, address, name, err)
				}
			}
		}
		keys, err := auth.NewKeySet(address, loopback, slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := keys.Check(t.Context(), address); err != nil {
			t.Errorf("%s with its network: %v", address, err)
		}
	}
	if n := p.reads.Load(); n != 2 {
		t.Errorf("the key set was read %d times, want once for each address that is allowed", n)
	}
}

// A public provider cannot redirect the server into its own network.
func TestKeySetRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	inside, p := newProvider(t), newProvider(t)
	inside.publish("k", edKey(t))
	p.answers(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.server.URL, http.StatusFound)
	})
	keys, err := auth.NewKeySet(p.server.URL, loopback, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Check(t.Context(), p.server.URL); err == nil || inside.reads.Load() != 0 {
		t.Errorf("got %v and %d reads of the redirect's target, want an error and none", err, inside.reads.Load())
	}
}
