package config

import (
	"strconv"
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
			"reads.top_n", "default number of rows when the top of a board is read or streamed, 1 to 100",
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
	UpdatesPerMinute      int // in UpdatesWindow
	UpdatesWindow         time.Duration
	EventsPerMinute       int
	TopPerMinute          int
	RankPerMinute         int
	TicketsPerMinute      int
	AdminPerMinute        int
	AnonymousPerMinute    int
	AddressPerMinute      int
	AuthFailuresPerMinute int
	IPv6Prefix            int
}

// maxPerMinute is the highest rate that package limit measures accurately.
const maxPerMinute = 1_000_000

const maxUpdatesWindow = 24 * time.Hour

func (l *Limit) settings() []setting {
	return []setting{
		{
			"limit.updates_per_minute",
			"updates by a user in limit.updates_window, including repeats; 600000 a minute for servers " +
				"(score:update); 0 disables both limits",
			"10", live, &l.UpdatesPerMinute,
		},
		{
			"limit.updates_window", "time in which limit.updates_per_minute counts, 1s to 24h", "1m", live,
			&l.UpdatesWindow,
		},
		{
			"limit.events_per_minute",
			"reads of the receipt or status of an event by a user; 600000 for servers; 0 disables both limits",
			"120", live, &l.EventsPerMinute,
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
			"limit.admin_per_minute",
			"requests by an operator; 600000 for operators who are also servers (score:update); 0 disables both limits",
			"6000", live, &l.AdminPerMinute,
		},
		{
			"limit.anonymous_per_minute", "requests without a token from an address; 0 disables the limit",
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
		{
			"limit.ipv6_prefix", "bits of an IPv6 address that count as one client in limits by address; the /48 " +
				"around it may do 16 times as much as one client",
			strconv.Itoa(scoreboard.DefaultClientBits), live, &l.IPv6Prefix,
		},
	}
}

func (l *Limit) check(p *problems) {
	for name, n := range map[string]int{
		"limit.updates_per_minute": l.UpdatesPerMinute, "limit.events_per_minute": l.EventsPerMinute,
		"limit.top_per_minute": l.TopPerMinute, "limit.rank_per_minute": l.RankPerMinute,
		"limit.tickets_per_minute": l.TicketsPerMinute, "limit.admin_per_minute": l.AdminPerMinute,
		"limit.anonymous_per_minute": l.AnonymousPerMinute, "limit.address_per_minute": l.AddressPerMinute,
		"limit.auth_failures_per_minute": l.AuthFailuresPerMinute,
	} {
		p.between(name, n, 0, maxPerMinute)
	}
	switch {
	case l.UpdatesWindow < time.Second || l.UpdatesWindow > maxUpdatesWindow:
		p.add("limit.updates_window", "must be 1s to %s, not %s", maxUpdatesWindow, l.UpdatesWindow)
	case time.Duration(l.UpdatesPerMinute)*time.Minute > maxPerMinute*l.UpdatesWindow:
		p.add("limit.updates_window", "(%s) with limit.updates_per_minute (%d) must not exceed %d updates a minute",
			l.UpdatesWindow, l.UpdatesPerMinute, maxPerMinute)
	}
	p.between("limit.ipv6_prefix", l.IPv6Prefix, scoreboard.SiteBits, 128)
}
