package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/limit"
)

// What a user may do at once of a limit on updates, and what a server may do
// in a minute: one that acts for all users does what all of them do.
const (
	updateBurst      = 10
	serversPerMinute = 600_000
)

// limits are those of the API, which operators turn.
type limits struct {
	limiter                             *limit.Limiter
	updates, actions, top, rank, ticket rate
	anonymous, address, authFailures    *turnable
}

// makeLimits makes the limits; those of no rate let all pass.
func (s *Server) makeLimits(c *config.Config) api.Limits {
	l := &s.limits
	l.limiter = limit.New(s.redis, time.Now)
	s.register(l.limiter.Collectors()...)
	for name, r := range map[string]*rate{"updates": &l.updates, "actions": &l.actions, "top": &l.top, "rank": &l.rank, "tickets": &l.ticket} {
		*r = rate{&turnable{name: name}, &turnable{name: name + "_of_servers"}}
	}
	l.anonymous, l.address, l.authFailures = &turnable{name: "anonymous"}, &turnable{name: "address"}, &turnable{name: "auth_failures"}
	l.set(c)
	return api.Limits{
		Updates: l.updates.api(), Actions: l.actions.api(), Top: l.top.api(), Rank: l.rank.api(), Tickets: l.ticket.api(),
		Key: keyLimits(l.limiter), Anonymous: l.anonymous, Address: l.address, AuthFailures: l.authFailures,
	}
}

// set puts the rates of a configuration in force.
func (l *limits) set(c *config.Config) {
	// A second's worth at least, for a rate that was raised.
	burst := min(max(updateBurst, c.LimitUpdatesPerMinute/60), c.LimitUpdatesPerMinute)
	l.updates.set(l.limiter, c.LimitUpdatesPerMinute, burst)
	l.actions.set(l.limiter, c.LimitUpdatesPerMinute, burst)
	l.top.set(l.limiter, c.LimitTopPerMinute, c.LimitTopPerMinute)
	l.rank.set(l.limiter, c.LimitRankPerMinute, c.LimitRankPerMinute)
	l.ticket.set(l.limiter, c.LimitTicketsPerMinute, c.LimitTicketsPerMinute)
	l.anonymous.set(l.limiter, c.LimitAnonymousPerMinute, c.LimitAnonymousPerMinute)
	l.address.set(l.limiter, c.LimitAddressPerMinute, c.LimitAddressPerMinute)
	l.authFailures.set(l.limiter, c.LimitAuthFailuresPerMinute, c.LimitAuthFailuresPerMinute)
}

// turnable is a limit whose rate can be turned. What Redis knows of its keys
// goes on counting.
type turnable struct {
	name      string
	perMinute int
	bucket    atomic.Pointer[limit.Bucket] // nil: off
}

func (t *turnable) set(l *limit.Limiter, perMinute, burst int) {
	if perMinute == t.perMinute {
		return
	}
	t.perMinute = perMinute
	if perMinute == 0 {
		t.bucket.Store(nil)
		return
	}
	t.bucket.Store(l.Bucket(t.name, perMinute, burst))
}

// Take implements api.Limit.
func (t *turnable) Take(ctx context.Context, key string) time.Duration {
	if b := t.bucket.Load(); b != nil {
		return b.Take(ctx, key)
	}
	return 0
}

// Wait implements api.Limit.
func (t *turnable) Wait(key string) time.Duration {
	if b := t.bucket.Load(); b != nil {
		return b.Wait(key)
	}
	return 0
}

// rate limits users, and servers at what all of them do.
type rate struct{ users, servers *turnable }

func (r rate) set(l *limit.Limiter, perMinute, burst int) {
	r.users.set(l, perMinute, burst)
	if perMinute > 0 {
		perMinute = max(serversPerMinute, perMinute)
	}
	r.servers.set(l, perMinute, perMinute/60)
}

func (r rate) api() api.Rate { return api.Rate{Users: r.users, Servers: r.servers} }

// keyLimits are those of keys that may sign so many events a minute: one for
// each rate that some key has.
func keyLimits(l *limit.Limiter) func(int) api.Limit {
	var mu sync.Mutex
	byRate := make(map[int]api.Limit)
	return func(perMinute int) api.Limit {
		mu.Lock()
		defer mu.Unlock()
		b := byRate[perMinute]
		if b == nil {
			b = l.Bucket("keys_"+strconv.Itoa(perMinute), perMinute, perMinute)
			byRate[perMinute] = b
		}
		return b
	}
}

// cursorKey signs the cursors of pages. Nodes that serve the same readers have
// the same: it comes from the secret that they share anyway.
func cursorKey(c *config.Config) []byte {
	secret := c.AuthMasterKey
	if secret == "" {
		secret = c.AuthJWTSecret
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("cursors of pages"))
	return mac.Sum(nil)
}
