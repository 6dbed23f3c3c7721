package config

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Ingest is how increments are batched, and which are accepted.
type Ingest struct {
	Lanes    int
	Batch    int
	Queue    int
	Wait     time.Duration
	Overflow string
	Async    bool
	Actions  scoreboard.Rules
	MinDelta int64
	MaxDelta int64
}

func (i *Ingest) settings() []setting {
	return []setting{
		{"ingest.lanes", "number of parallel transactions that record batches", "1", fixed, &i.Lanes},
		{"ingest.batch", "maximum number of increments in one transaction, 1 to 1000", "500", fixed, &i.Batch},
		{"ingest.queue", "maximum number of increments waiting in one lane", "8192", fixed, &i.Queue},
		{
			"ingest.wait", "maximum estimated wait in a lane; increments that would wait longer are rejected with 503",
			"500ms", fixed, &i.Wait,
		},
		{
			"ingest.overflow",
			"what happens when a lane is full: reject (respond with 503), or async (202, queued)",
			"reject", live, &i.Overflow,
		},
		{
			"ingest.async",
			"respond with 202 to Prefer: respond-async; if off, with 200 once the increment is recorded",
			"true", live, &i.Async,
		},
		{
			"ingest.actions", "action rules, comma-separated name:min:max, each with optional ;sub=MIN:MAX " +
				"(of the subscore) ;cooldown=5s ;max=10/1m " +
				";once=30s ;by=servers (or nobody, or KEY+KEY) ;users=USER+USER ;scope=SCOPE " +
				"(of the token); the name * matches all other actions",
			"", live, &i.Actions,
		},
		{
			"ingest.min_delta", "minimum delta of an increment; boards may have narrower bounds",
			"-9007199254740991", live, &i.MinDelta,
		},
		{
			"ingest.max_delta", "maximum delta of an increment; boards may have narrower bounds",
			"9007199254740991", live, &i.MaxDelta,
		},
	}
}

func (i *Ingest) check(p *problems) {
	p.atLeast("ingest.lanes", i.Lanes, 1)
	p.between("ingest.batch", i.Batch, 1, 1000) // so that no sum of deltas exceeds 64 bits
	p.atLeast("ingest.queue", i.Queue, 1)
	p.positive("ingest.wait", i.Wait)
	p.oneOf("ingest.overflow", i.Overflow, "reject", "async")
	const bound = int64(scoreboard.MaxScore)
	if i.MinDelta < -bound {
		p.add("ingest.min_delta", "must be at least %d, not %d", -bound, i.MinDelta)
	}
	if i.MaxDelta > bound {
		p.add("ingest.max_delta", "must be at most %d, not %d", bound, i.MaxDelta)
	}
	if i.MinDelta > i.MaxDelta {
		p.add("ingest.min_delta", "(%d) must not be greater than ingest.max_delta (%d)", i.MinDelta, i.MaxDelta)
	}
}

// Anomaly is which increments are suspicious, and what happens to them.
type Anomaly struct {
	Size          string
	SizeFactor    int
	Frequency     string
	FrequencyMax  scoreboard.Quota
	Amount        string
	AmountMax     scoreboard.Quota
	Travel        string
	TravelWindow  time.Duration
	CountryHeader string
	CountryFile   string
}

func (a *Anomaly) settings() []setting {
	return []setting{
		{
			"anomaly.size", "action on a delta far above the user's recent ones: off, log, flag or enforce",
			"off", live, &a.Size,
		},
		{
			"anomaly.size_factor", "multiple of the user's largest recent delta above which anomaly.size acts",
			"20", live, &a.SizeFactor,
		},
		{
			"anomaly.frequency", "action on too many events of a user: off, log, flag or enforce", "off", live,
			&a.Frequency,
		},
		{
			"anomaly.frequency_max", "maximum number of events of a user in a time span; players cannot send more " +
				"than limit.updates_per_minute, so a higher value concerns only servers",
			"90/10m", live, &a.FrequencyMax,
		},
		{
			"anomaly.amount", "action on too many points of a user on a board: off, log, flag or enforce", "off", live,
			&a.Amount,
		},
		{
			"anomaly.amount_max", "maximum number of points of a user on a board in a time span", "1000000/1h", live,
			&a.AmountMax,
		},
		{
			"anomaly.travel",
			"action on a user in two countries within anomaly.travel_window: off, log, flag or enforce",
			"off", live, &a.Travel,
		},
		{"anomaly.travel_window", "time within which a change of country is an anomaly", "1h", live, &a.TravelWindow},
		{
			"anomaly.country_header",
			"request header with the country, such as CF-IPCountry; trusted from trusted_proxies only",
			"", live, &a.CountryHeader,
		},
		{"anomaly.country_file", "MaxMind database (.mmdb) of countries by address", "", fixed, &a.CountryFile},
	}
}

// hasMeaning reports whether a header is read for another purpose, by this server or by
// what is in front of it. The edge removes the country's header from requests that do
// not come from a trusted proxy: they would lose their token, or their type.
func hasMeaning(header string) bool {
	name := strings.ToLower(header)
	for _, prefix := range []string{
		"accept", "access-control-", "content-", "if-", "proxy-", "sec-", "x-forwarded-", "x-scoreboard-",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"authorization", "cache-control", "connection", "cookie", "date", "expect", "forwarded", "host",
		"idempotency-key", "keep-alive", "last-event-id", "origin", "prefer", "range", "referer", "set-cookie", "te",
		"traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-real-ip",
		"x-request-id",
	}, name)
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (a *Anomaly) check(p *problems, trustedProxies []string) {
	for name, mode := range map[string]string{
		"anomaly.size": a.Size, "anomaly.frequency": a.Frequency, "anomaly.amount": a.Amount,
		"anomaly.travel": a.Travel,
	} {
		p.oneOf(name, mode, "off", "log", "flag", "enforce")
	}
	p.atLeast("anomaly.size_factor", a.SizeFactor, 2)
	if a.FrequencyMax.N > scoreboard.MaxQuota {
		p.add("anomaly.frequency_max", "must be at most %d events, not %d", scoreboard.MaxQuota, a.FrequencyMax.N)
	}
	if a.TravelWindow <= 0 || a.TravelWindow > scoreboard.MaxRuleWindow {
		p.add("anomaly.travel_window", "must be greater than 0 and at most %s, not %s", scoreboard.MaxRuleWindow,
			a.TravelWindow)
	}
	switch {
	case a.CountryHeader == "":
	case len(trustedProxies) == 0:
		p.add("anomaly.country_header", "requires trusted_proxies: the header is trusted from them only")
	case !headerName.MatchString(a.CountryHeader):
		p.add("anomaly.country_header", "must be a header name such as CF-IPCountry, not %q", a.CountryHeader)
	case hasMeaning(a.CountryHeader):
		p.add("anomaly.country_header", "must not be %s, which has another meaning", a.CountryHeader)
	}
}
