package limit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/limit"
)

// Addresses of one IPv6 network share a bucket, and networks of one site share one of
// 16 times its size. IPv4 addresses share nothing.
func TestLimitsByAddress(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		l := limit.NewSet(limit.New(connect(t, url), time.Now), limit.Rates{Anonymous: 2, IPv6Prefix: 64}).Anonymous
		admitted := func(address string) int {
			n := 0
			for range 3 {
				if l.Take(t.Context(), address) == 0 {
					n++
				}
			}
			return n
		}
		for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8:1:0::1"} {
			if got := admitted(address); got != 2 {
				t.Errorf("%s: admitted %d of 3, want 2", address, got)
			}
		}
		if got := admitted("2001:db8:1:0:ffff::9"); got != 0 {
			t.Errorf("another address of the network: admitted %d, want 0", got)
		}
		total := 2
		for i := 1; i < 40; i++ {
			total += admitted(fmt.Sprintf("2001:db8:1:%x::1", i))
		}
		if total != 32 {
			t.Errorf("40 networks of one site: admitted %d, want 32", total)
		}
		if got := admitted("2001:db8:2::1"); got != 2 {
			t.Errorf("another site: admitted %d, want 2", got)
		}
	})
}

func TestNarrowerIPv6Prefix(t *testing.T) {
	t.Parallel()
	rdb := connect(t, backends.OwnRedis(t).URL)
	s := limit.NewSet(limit.New(rdb, time.Now), limit.Rates{AuthFailures: 1, IPv6Prefix: 64})
	take := func(address string) bool { return s.AuthFailures.Take(t.Context(), address) == 0 }
	if !take("2001:db8::1") || take("2001:db8::2") {
		t.Error("two addresses of a /64 do not share the limit")
	}
	s.Configure(limit.Rates{AuthFailures: 1, IPv6Prefix: 128})
	if !take("2001:db8::1") || !take("2001:db8::2") || take("2001:db8::1") {
		t.Error("with 128 bits, each address has its own limit")
	}
}
