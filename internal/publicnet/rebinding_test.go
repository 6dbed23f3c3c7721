package publicnet

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// A name that is resolved to an allowed address, and to another one when it is dialed, reaches the first
// only, also if it has both at once.
func TestNameThatChangesItsAddress(t *testing.T) { //nolint:paralleltest // it replaces the process's resolver
	var inside atomic.Int64
	listen := func(address string, handler http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(handler)
		_ = s.Listener.Close()
		var err error
		if s.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address); err != nil {
			t.Skip("no second address of this machine:", err)
		}
		s.Start()
		t.Cleanup(s.Close)
		return s
	}
	allowed := listen("127.0.0.2:0", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	_, port, _ := net.SplitHostPort(allowed.Listener.Addr().String())
	listen("127.0.0.1:"+port, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	var answer atomic.Pointer[func(lookup int64) []string] // of now: a late look-up of the case before gets it, too
	var lookups atomic.Int64
	resolver := serveNames(t, func() []string { return (*answer.Load())(lookups.Add(1)) })
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", resolver)
	}}
	defer func() { net.DefaultResolver = before }()

	client := Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}.Client(5 * time.Second)
	get := func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://rebind.example.:"+port+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(r)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	for name, c := range map[string]struct {
		answer func(n int64) []string
		fails  bool
	}{
		"allowed":     {func(int64) []string { return []string{"127.0.0.2"} }, false},
		"then inside": {func(int64) []string { return []string{"127.0.0.1"} }, true},
		"in turn": {func(n int64) []string {
			return []string{[]string{"127.0.0.2", "127.0.0.1"}[n%2]}
		}, false}, // some
		"both at once":       {func(int64) []string { return []string{"127.0.0.1", "127.0.0.2"} }, false},
		"inside, many times": {func(int64) []string { return []string{"127.0.0.1", "127.0.0.1", "127.0.0.1"} }, true},
	} {
		answer.Store(&c.answer)
		failed := 0
		for range 20 {
			if get() != nil {
				failed++
			}
		}
		if c.fails && failed < 20 || !c.fails && failed == 20 {
			t.Errorf("%s: %d of 20 requests failed", name, failed)
		}
	}
	if inside.Load() > 0 || lookups.Load() < 100 {
		t.Errorf("%d requests reached the inside, after %d look-ups", inside.Load(), lookups.Load())
	}
}

// serveNames answers each question for IPv4 addresses with those of answer, until the test ends.
func serveNames(t *testing.T, answer func() []string) (address string) {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			end := 12 // of the question: its name, its type and its class
			for end < n && packet[end] != 0 {
				end += int(packet[end]) + 1
			}
			if end += 5; end > n {
				continue
			}
			out := slices.Concat(packet[:2], []byte{0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0}, packet[12:end])
			if packet[end-3] == 1 { // for IPv4
				for _, a := range answer() {
					ip := netip.MustParseAddr(a).As4()
					out = slices.Concat(out, []byte{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4}, ip[:])
					out[7]++
				}
			}
			_, _ = conn.WriteTo(out, from)
		}
	}()
	return conn.LocalAddr().String()
}
