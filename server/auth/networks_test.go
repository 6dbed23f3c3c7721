package auth_test

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/auth"
)

func TestKeySetNetworks(t *testing.T) {
	t.Parallel()
	cluster := auth.Networks{netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd12::/16")}
	for address, want := range map[string]struct{ public, cluster bool }{
		"8.8.8.8": {true, true}, "2606:4700::1111": {true, true}, "::ffff:8.8.8.8": {true, true},
		"64:ff9b::8.8.8.8": {true, true},
		"10.96.0.10":       {false, true}, "::ffff:10.96.0.10": {false, true}, "fd12::1": {false, true},
		"10.0.0.1": {}, "172.16.0.1": {}, "192.168.1.1": {}, "::ffff:192.168.1.1": {}, "fd00:ec2::254": {},
		"127.0.0.1": {}, "127.8.9.10": {}, "::1": {}, "::ffff:127.0.0.1": {}, "0.0.0.0": {}, "0.1.2.3": {}, "::": {},
		"169.254.169.254": {}, "fe80::1": {}, "fe80::1%eth0": {}, "100.100.100.200": {}, "168.63.129.16": {},
		"192.0.0.192": {}, "198.18.0.1": {}, "224.0.0.1": {}, "ff02::1": {}, "255.255.255.255": {},
		"64:ff9b::10.0.0.1": {}, "64:ff9b::169.254.169.254": {}, "64:ff9b:1::1": {}, "2002:a00:1::1": {},
		"2001:0:a00:1::1": {}, "2001:db8::1": {}, "fec0::1": {}, "::10.0.0.1": {},
	} {
		a := netip.MustParseAddr(address)
		if err := auth.Networks(nil).Check(a); (err == nil) != want.public {
			t.Errorf("%s without networks: got %v", address, err)
		}
		if err := cluster.Check(a); (err == nil) != want.cluster {
			t.Errorf("%s with the cluster's networks: got %v", address, err)
		}
	}
}

// The address is checked when it is dialed, after its name has been resolved.
func TestKeySetAtPrivateAddress(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.publish("k", edKey(t))
	other := auth.Networks{netip.MustParsePrefix("10.0.0.0/8")}
	for _, address := range []string{p.server.URL, strings.Replace(p.server.URL, "127.0.0.1", "localhost", 1)} {
		for name, networks := range map[string]auth.Networks{"no networks": nil, "another network": other} {
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
