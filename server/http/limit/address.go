package limit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ByAddress is a limit whose keys are addresses. Of an IPv6 address it counts the
// network that one client has (the setting limit.ipv6_prefix), and beyond that the
// site, at scoreboard.SiteFactor times the rate: the owner of a /48 has 65,536 clients.
type ByAddress struct {
	clients, sites *Adjustable
	bits           atomic.Int32
}

func newByAddress(name string) *ByAddress {
	return &ByAddress{clients: &Adjustable{name: name}, sites: &Adjustable{name: name + "_of_sites"}}
}

func (b *ByAddress) set(l *Limiter, perMinute, bits int) {
	b.bits.Store(int32(bits))
	b.clients.set(l, perMinute, time.Minute, perMinute)
	ofSite := min(perMinute*scoreboard.SiteFactor, MaxPerMinute)
	b.sites.set(l, ofSite, time.Minute, ofSite)
}

// Take takes a token of the address and returns 0, or how long to wait for one. A
// client over its limit takes none of its site's.
func (b *ByAddress) Take(ctx context.Context, address string) time.Duration {
	if b.clients.bucket.Load() == nil {
		return 0
	}
	client, site := scoreboard.ClientNetworks(address, int(b.bits.Load()))
	wait := b.clients.Take(ctx, client)
	if wait == 0 && site != "" {
		wait = b.sites.Take(ctx, site)
	}
	return wait
}
