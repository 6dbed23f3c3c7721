package config

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Reads is how leaderboards are read.
type Reads struct {
	UserCache time.Duration
	TopN      int
	Anonymous bool
}

const maxUserCache = 500 * time.Millisecond

func (r *Reads) settings() []setting {
	return []setting{
		{
			"reads.user_cache", "how long a node caches a user's standing, 0 to 500ms",
			"250ms", fixed, &r.UserCache,
		},
		{
			"reads.top_n", "default number of rows when the top of a board is read or streamed",
			"10", live, &r.TopN,
		},
		{"reads.anonymous", "allow reads and streams of public boards without a token", "false", live, &r.Anonymous},
	}
}

func (r *Reads) check(p *problems) {
	if r.UserCache < 0 || r.UserCache > maxUserCache {
		p.add("reads.user_cache", "must be 0 to %s, not %s", maxUserCache, r.UserCache)
	}
	p.between("reads.top_n", r.TopN, 1, scoreboard.TopSize)
}

// Limit is the rate limits, in requests a minute; 0 disables one.
type Limit struct {
	UpdatesPerMinute      int
	TopPerMinute          int
	RankPerMinute         int
	TicketsPerMinute      int
	AnonymousPerMinute    int
	AddressPerMinute      int
	AuthFailuresPerMinute int
}

// maxPerMinute is the highest rate that package limit measures accurately.
const maxPerMinute = 1_000_000

func (l *Limit) settings() []setting {
	return []setting{
		{
			"limit.updates_per_minute",
			"updates by a user, including repeats; 600000 for servers (score:update); 0 disables both limits",
			"10", live, &l.UpdatesPerMinute,
		},
		{
			"limit.top_per_minute", "reads of a board's top by a user; 600000 for servers; 0 disables both limits",
			"60", live, &l.TopPerMinute,
		},
		{
			"limit.rank_per_minute", "reads of standings by a user; 600000 for servers; 0 disables both limits",
			"30", live, &l.RankPerMinute,
		},
		{
			"limit.tickets_per_minute", "realtime tickets of a user; 600000 for servers; 0 disables both limits",
			"60", live, &l.TicketsPerMinute,
		},
		{
			"limit.anonymous_per_minute", "reads without a token from an address; 0 disables the limit",
			"60", live, &l.AnonymousPerMinute,
		},
		{
			"limit.address_per_minute",
			"all requests from an address, which users behind a proxy share; 0 disables the limit",
			"0", live, &l.AddressPerMinute,
		},
		{
			"limit.auth_failures_per_minute", "failed authentications from an address before 429; 0 disables the limit",
			"60", live, &l.AuthFailuresPerMinute,
		},
	}
}

func (l *Limit) check(p *problems) {
	for name, n := range map[string]int{
		"limit.updates_per_minute": l.UpdatesPerMinute, "limit.top_per_minute": l.TopPerMinute,
		"limit.rank_per_minute": l.RankPerMinute, "limit.tickets_per_minute": l.TicketsPerMinute,
		"limit.anonymous_per_minute": l.AnonymousPerMinute, "limit.address_per_minute": l.AddressPerMinute,
		"limit.auth_failures_per_minute": l.AuthFailuresPerMinute,
	} {
		p.between(name, n, 0, maxPerMinute)
	}
}
