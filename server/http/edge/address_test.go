package edge_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/http/edge"
)

// addressBehind returns the client address that a handler behind proxies sees.
func addressBehind(t testing.TB, trusted []string, peer string, forwarded ...string) string {
	t.Helper()
	p, err := edge.ParseProxies(trusted)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = peer
	for _, f := range forwarded {
		r.Header.Add("X-Forwarded-For", f)
	}
	got := ""
	p.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }),
		func() string { return "" }).
		ServeHTTP(httptest.NewRecorder(), r)
	return got
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusted := []string{"10.0.0.0/8", "192.0.2.7", "fd00::/8"}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":               {"203.0.113.9:1234", nil, "203.0.113.9:1234"},
		"header from a stranger": {"203.0.113.9:1234", []string{"198.51.100.1"}, "203.0.113.9:1234"},
		"header from a proxy":    {"10.1.2.3:1234", []string{"198.51.100.1"}, "198.51.100.1:0"},
		"proxy without a header": {"10.1.2.3:1234", nil, "10.1.2.3:1234"},
		"client's own entry":     {"10.1.2.3:1234", []string{"127.0.0.1, 198.51.100.1"}, "198.51.100.1:0"},
		"two proxies": {
			"10.1.2.3:1234", []string{"127.0.0.1, 198.51.100.1, 192.0.2.7"}, "198.51.100.1:0",
		},
		"two headers": {
			"10.1.2.3:1234", []string{"127.0.0.1, 198.51.100.1", "192.0.2.7"}, "198.51.100.1:0",
		},
		"rubbish":                      {"10.1.2.3:1234", []string{"198.51.100.1, unknown"}, "10.1.2.3:1234"},
		"invalid entry before a proxy": {"10.1.2.3:1234", []string{"unknown, 192.0.2.7"}, "192.0.2.7:0"},
		"with a port":                  {"10.1.2.3:1234", []string{"198.51.100.1:51234"}, "198.51.100.1:0"},
		"with an invalid port":         {"10.1.2.3:1234", []string{"198.51.100.1:x"}, "10.1.2.3:1234"},
		"IPv6 in brackets":             {"10.1.2.3:1234", []string{"[2001:db8::5]"}, "[2001:db8::5]:0"},
		"IPv6 with a port":             {"10.1.2.3:1234", []string{"[2001:db8::5]:443, 10.0.0.1:8"}, "[2001:db8::5]:0"},
		"IPv4 in brackets":             {"10.1.2.3:1234", []string{"[198.51.100.1]"}, "10.1.2.3:1234"},
		"a zone in brackets":           {"10.1.2.3:1234", []string{"[fe80::1%eth0]:1"}, "10.1.2.3:1234"},
		"IPv6":                         {"[fd00::1]:1234", []string{"2001:db8::5"}, "[2001:db8::5]:0"},
		"IPv4 in IPv6":                 {"[::ffff:10.1.2.3]:1234", []string{"::ffff:198.51.100.1"}, "198.51.100.1:0"},
		"zone":                         {"10.1.2.3:1234", []string{"fe80::1%eth0"}, "10.1.2.3:1234"},
		"too many proxies": {
			"10.1.2.3:1234", []string{"198.51.100.1" + strings.Repeat(", 10.0.0.1", 100)}, "10.0.0.1:0",
		},
	} {
		if got := addressBehind(t, trusted, c.peer, c.forwarded...); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if got := addressBehind(t, nil, "10.1.2.3:1234", "198.51.100.1"); got != "10.1.2.3:1234" {
		t.Errorf("no trusted proxies: got %s", got)
	}
	for _, text := range []string{"", "localhost", "10.0.0.0/33", "10.0.0"} {
		if _, err := edge.ParseProxies([]string{text}); err == nil {
			t.Errorf("%q is accepted as a proxy", text)
		}
	}
}

// Only a trusted proxy may name the country of a request.
func TestClientCountry(t *testing.T) {
	t.Parallel()
	country := func(trusted []string, peer, name string, values ...string) string {
		p, err := edge.ParseProxies(trusted)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", "10.1.2.3")
		for _, s := range values {
			r.Header.Add("CF-IPCountry", s)
		}
		got := ""
		p.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("CF-IPCountry") }),
			func() string { return name }).ServeHTTP(httptest.NewRecorder(), r)
		return got
	}
	trusted := []string{"10.0.0.0/8"}
	for name, c := range map[string]struct{ got, want string }{
		"header from a proxy":    {country(trusted, "10.1.2.3:1", "cf-ipcountry", "DE"), "DE"},
		"header from a stranger": {country(trusted, "203.0.113.9:1", "CF-IPCountry", "DE"), ""},
		"no trusted proxies":     {country(nil, "10.1.2.3:1", "CF-IPCountry", "DE"), ""},
		"two headers":            {country(trusted, "10.1.2.3:1", "CF-IPCountry", "DE", "FR"), ""},
		"peer is not an address": {country(trusted, "@", "CF-IPCountry", "DE"), ""},
		"no header configured":   {country(nil, "203.0.113.9:1", "", "DE"), "DE"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", name, c.got, c.want)
		}
	}
}

// Whatever the headers contain, the result is an address, and only a trusted proxy
// can change it.
func FuzzForwarded(f *testing.F) {
	f.Add("198.51.100.1, 10.0.0.1", "10.0.0.2")
	f.Add(",,,", "::1%x")
	f.Add("unknown", "")
	f.Fuzz(func(t *testing.T, first, second string) {
		got := addressBehind(t, []string{"10.0.0.0/8"}, "10.1.2.3:1234", first, second)
		if _, err := netip.ParseAddrPort(got); err != nil {
			t.Fatalf("%q, %q: got invalid address %q", first, second, got)
		}
		if got := addressBehind(t, []string{"10.0.0.0/8"}, "203.0.113.9:1", first, second); got != "203.0.113.9:1" {
			t.Fatalf("%q, %q: got %q from a stranger's header", first, second, got)
		}
	})
}

// A proxy that sends Forwarded (RFC 7239) and no X-Forwarded-For is understood, too.
func TestForwardedHeader(t *testing.T) {
	t.Parallel()
	p, err := edge.ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		peer, forwarded, others, want string
	}{
		{"10.1.2.3:1", "for=198.51.100.1", "", "198.51.100.1:0"},
		{"10.1.2.3:1", `for=::1, For="198.51.100.1:51234";proto=http;by=_a, for=10.0.0.1`, "", "198.51.100.1:0"},
		{"10.1.2.3:1", `by=10.0.0.9;for="[2001:db8:cafe::17]:4711"`, "", "[2001:db8:cafe::17]:0"},
		{"10.1.2.3:1", "for=198.51.100.1, for=_hidden", "", "10.1.2.3:1"},
		{"10.1.2.3:1", "for=198.51.100.1, proto=https", "", "10.1.2.3:1"},
		{"10.1.2.3:1", "for=127.0.0.1", "198.51.100.1", "198.51.100.1:0"},
		{"203.0.113.9:1", "for=198.51.100.1", "", "203.0.113.9:1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = test.peer
		r.Header.Set("Forwarded", test.forwarded)
		if test.others != "" {
			r.Header.Set("X-Forwarded-For", test.others)
		}
		keep := http.HandlerFunc(func(_ http.ResponseWriter, got *http.Request) { r = got })
		p.Wrap(keep, func() string { return "" }).ServeHTTP(httptest.NewRecorder(), r)
		if r.RemoteAddr != test.want {
			t.Errorf("%+v: got %s", test, r.RemoteAddr)
		}
	}
}
