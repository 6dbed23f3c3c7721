package publicnet_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/publicnet"
)

func TestNetworks(t *testing.T) {
	t.Parallel()
	cluster := publicnet.Networks{Allowed: []netip.Prefix{
		netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd12::/16"),
	}}
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
		if err := (publicnet.Networks{}).Check(a); (err == nil) != want.public {
			t.Errorf("%s without networks: got %v", address, err)
		}
		if err := cluster.Check(a); (err == nil) != want.cluster {
			t.Errorf("%s with the cluster's networks: got %v", address, err)
		}
	}
}

// The headers of a response are bounded, and an address that is not allowed is not
// connected to, however it is written, nor after a redirect.
func TestClient(t *testing.T) {
	t.Parallel()
	requests := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch r.URL.Path {
		case "/huge":
			w.Header().Set("Padding", strings.Repeat("x", 200<<10))
		case "/elsewhere":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}
	}))
	defer receiver.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	local := publicnet.Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for _, c := range []struct {
		networks publicnet.Networks
		url      string
		status   int // 0: an error
		requests int
	}{
		{local, receiver.URL + "/", http.StatusOK, 1},
		{local, receiver.URL + "/huge", 0, 1},
		{local, receiver.URL + "/elsewhere", http.StatusFound, 1},
		{publicnet.Networks{}, receiver.URL, 0, 0},
		{publicnet.Networks{}, "http://localhost:" + port, 0, 0},
		{publicnet.Networks{}, "http://[::ffff:127.0.0.1]:" + port, 0, 0},
		{publicnet.Networks{}, "http://2130706433:" + port, 0, 0}, // 127.0.0.1 as a number
		{publicnet.Networks{}, "http://0x7f.1:" + port, 0, 0},
	} {
		requests = 0
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		status := 0
		if response, err := c.networks.Client(10 * time.Second).Do(request); err == nil {
			status = response.StatusCode
			_ = response.Body.Close()
		}
		if status != c.status || requests != c.requests {
			t.Errorf("%s: got status %d after %d requests, want %d after %d",
				c.url, status, requests, c.status, c.requests)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.8.9.10": true, "::1": true,
		"::ffff:127.0.0.1": true, "localhost.example.com": false, "127.0.0.1.example.com": false, "10.0.0.1": false,
		"0.0.0.0": false, "::": false, "": false,
	} {
		if got := publicnet.IsLoopback(host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}
