package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"strconv"
	"sync"
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

// makeLimits makes the limits that are on.
func (s *Server) makeLimits(c *config.Config) api.Limits {
	l := limit.New(s.redis, time.Now)
	s.register(l.Collectors()...)
	return api.Limits{
		// A second's worth at least, for a rate that was raised.
		Updates: rate(l, "updates", c.LimitUpdatesPerMinute, min(max(updateBurst, c.LimitUpdatesPerMinute/60), c.LimitUpdatesPerMinute)),
		Actions: rate(l, "actions", c.LimitUpdatesPerMinute, min(max(updateBurst, c.LimitUpdatesPerMinute/60), c.LimitUpdatesPerMinute)),
		Top:     rate(l, "top", c.LimitTopPerMinute, c.LimitTopPerMinute),
		Rank:    rate(l, "rank", c.LimitRankPerMinute, c.LimitRankPerMinute),
		Tickets: rate(l, "tickets", c.LimitTicketsPerMinute, c.LimitTicketsPerMinute),

		Key: keyLimits(l),

		Anonymous:    bucket(l, "anonymous", c.LimitAnonymousPerMinute, c.LimitAnonymousPerMinute),
		Address:      bucket(l, "address", c.LimitAddressPerMinute, c.LimitAddressPerMinute),
		AuthFailures: bucket(l, "auth_failures", c.LimitAuthFailuresPerMinute, c.LimitAuthFailuresPerMinute),
	}
}

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

func rate(l *limit.Limiter, name string, perMinute, burst int) api.Rate {
	if perMinute == 0 {
		return api.Rate{}
	}
	return api.Rate{
		Users:   bucket(l, name, perMinute, burst),
		Servers: bucket(l, name+"_of_servers", max(serversPerMinute, perMinute), max(serversPerMinute, perMinute)/60),
	}
}

// bucket is nil for a limit that is off.
func bucket(l *limit.Limiter, name string, perMinute, burst int) api.Limit {
	if perMinute == 0 {
		return nil
	}
	return l.Bucket(name, perMinute, burst)
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
