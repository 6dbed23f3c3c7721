package limit

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A user may make updateBurst updates at once. A server acts for all users, so
// its limit is that of all of them.
const (
	updateBurst      = 10
	serversPerMinute = 600_000
)

// Rates are the configured limits, in requests a minute; 0 disables one.
type Rates struct {
	Updates                          int           // by user, in UpdatesWindow instead
	UpdatesWindow                    time.Duration // 0 is a minute
	Events, Top, Rank                int           // by user
	Tickets, Joins, Admin            int           // by user
	Anonymous, Address, AuthFailures int           // by client address
	// IPv6Prefix is how many bits of an IPv6 address are one client, 48 to 128.
	IPv6Prefix int
}

// Set holds every limit of the API. Configure changes their rates while requests
// are served.
type Set struct {
	limiter *Limiter

	Updates, Actions, Events, Top, Rank, Tickets, Joins, Admin Pair
	Anonymous, Address, AuthFailures                           *ByAddress
	// SignIns is by address at the rate of Anonymous: other sites can have a browser use up that one.
	SignIns *ByAddress

	mu      sync.Mutex
	perRate map[int]*Bucket // of signing keys
}

// Pair limits users, and servers by the rate of all their users together.
type Pair struct{ Users, Servers *Adjustable }

// NewSet returns the limits at their configured rates.
func NewSet(l *Limiter, r Rates) *Set {
	pair := func(name string) Pair {
		return Pair{Users: &Adjustable{name: name}, Servers: &Adjustable{name: name + "_of_servers"}}
	}
	s := &Set{
		limiter: l, Updates: pair("updates"), Actions: pair("actions"), Events: pair("events"), Top: pair("top"),
		Rank: pair("rank"), Tickets: pair("tickets"), Joins: pair("joins"), Admin: pair("admin"),
		Anonymous: newByAddress("anonymous"), Address: newByAddress("address"),
		AuthFailures: newByAddress("auth_failures"), SignIns: newByAddress("sign_ins"), perRate: make(map[int]*Bucket),
	}
	s.Configure(r)
	return s
}

// Configure puts rates into force. It must not be called concurrently.
func (s *Set) Configure(r Rates) {
	window := cmp.Or(r.UpdatesWindow, time.Minute)
	// The burst covers at least one second of the rate.
	burst := min(max(updateBurst, int(time.Duration(r.Updates)*time.Second/window)), r.Updates)
	s.Updates.setIn(s.limiter, r.Updates, window, burst)
	s.Actions.setIn(s.limiter, r.Updates, window, burst)
	s.Events.set(s.limiter, r.Events, r.Events)
	s.Top.set(s.limiter, r.Top, r.Top)
	s.Rank.set(s.limiter, r.Rank, r.Rank)
	s.Tickets.set(s.limiter, r.Tickets, r.Tickets)
	s.Joins.set(s.limiter, r.Joins, r.Joins)
	s.Admin.set(s.limiter, r.Admin, r.Admin)
	s.Anonymous.set(s.limiter, r.Anonymous, r.IPv6Prefix)
	s.SignIns.set(s.limiter, r.Anonymous, r.IPv6Prefix)
	s.Address.set(s.limiter, r.Address, r.IPv6Prefix)
	s.AuthFailures.set(s.limiter, r.AuthFailures, r.IPv6Prefix)
}

func (p Pair) set(l *Limiter, perMinute, burst int) { p.setIn(l, perMinute, time.Minute, burst) }

// setIn sets the rate of a user, n in a window, and that of servers, which is by the minute.
func (p Pair) setIn(l *Limiter, n int, window time.Duration, burst int) {
	perMinute := 0
	if n > 0 {
		perMinute = max(serversPerMinute, int(time.Duration(n)*time.Minute/window))
	}
	p.Users.set(l, n, window, burst)
	p.Servers.set(l, perMinute, time.Minute, perMinute/60)
}

// Key returns the limit of signing keys with a rate of their own. Keys with the
// same rate share the limit's name, not its tokens.
func (s *Set) Key(perMinute int) *Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.perRate[perMinute]
	if b == nil {
		b = s.limiter.Bucket("keys_"+strconv.Itoa(perMinute), perMinute, perMinute)
		s.perRate[perMinute] = b
	}
	return b
}

// Adjustable is a limit whose rate can change. The counts that Redis holds for
// its keys survive the change.
type Adjustable struct {
	name   string
	n      int
	window time.Duration
	bucket atomic.Pointer[Bucket] // nil: disabled
}

// set allows n in a window; 0 disables the limit.
func (a *Adjustable) set(l *Limiter, n int, window time.Duration, burst int) {
	if n == a.n && window == a.window {
		return
	}
	a.n, a.window = n, window
	if n == 0 {
		a.bucket.Store(nil)
		return
	}
	a.bucket.Store(l.bucket(a.name, interval(n, window), burst))
}

// Take takes a token of key and returns 0, or how long to wait for one.
func (a *Adjustable) Take(ctx context.Context, key string) time.Duration {
	if b := a.bucket.Load(); b != nil {
		return b.Take(ctx, key)
	}
	return 0
}
