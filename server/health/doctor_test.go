package health

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	repository "github.com/scoreboard/scoreboard"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// A wrong setting is named with its fix; the text of any other error is not shown.
func TestRedisCheckNamesTheSetting(t *testing.T) {
	t.Parallel()
	setup := &scoreboard.SetupError{Setting: "redis.url", Problem: "wrong", Fix: "correct it"}
	for err, want := range map[error][2]string{
		fmt.Errorf("ping: %w", setup):           {"redis.url: wrong", "correct it"},
		errors.New("dial redis://:secret@host"): {"does not answer", "reads come from PostgreSQL"},
	} {
		d := Doctor{Redis: func(context.Context) error { return err }}
		c := d.redis(t.Context())
		if c.Status != wire.CheckFail || c.Detail != want[0] || !strings.HasPrefix(c.NextStep, want[1]) {
			t.Errorf("%v: got %+v, want %q", err, c, want)
		}
	}
}

// The doctor warns of a daemon that owns its tables or could rewrite the audit trail, and
// fails where the daemon lacks rights that it needs.
func TestDatabaseRoleCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		excess, lack string
		err          error
		want         string
		next         bool
	}{
		{want: wire.CheckOK},
		{excess: "the role scoreboard owns audit_log", want: wire.CheckWarn, next: true},
		{lack: "the role has no rights on boards", want: wire.CheckFail, next: true},
		{excess: "owns audit_log", lack: "no rights on boards", want: wire.CheckFail, next: true},
		{err: errors.New("no connection"), want: wire.CheckSkipped},
	} {
		d := Doctor{Role: func(context.Context) (string, string, error) { return tt.excess, tt.lack, tt.err }}
		if c := d.role(t.Context()); c.Status != tt.want || (c.NextStep != "") != tt.next {
			t.Errorf("%+v: got %+v, want %s", tt, c, tt.want)
		}
	}
}

// The doctor warns where PostgreSQL acknowledges what it can lose.
func TestDurabilityCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		risk string
		err  error
		want string
	}{
		{want: wire.CheckOK},
		{risk: "fsync is off", want: wire.CheckWarn},
		{err: errors.New("no connection"), want: wire.CheckSkipped},
	} {
		d := Doctor{Durability: func(context.Context) (string, error) { return tt.risk, tt.err }}
		if c := d.durability(t.Context()); c.Status != tt.want || (c.NextStep != "") != (tt.risk != "") {
			t.Errorf("%+v: got %+v, want %s", tt, c, tt.want)
		}
	}
}

// The doctor warns about a job that fails again and again, not about a single failure.
func TestJobsCheck(t *testing.T) {
	t.Parallel()
	good := upkeep.JobStatus{Name: "teams", Holder: true}
	for _, tt := range []struct {
		job    upkeep.JobStatus
		status string
		detail string
	}{
		{upkeep.JobStatus{Name: "rollover"}, wire.CheckOK, "this process runs 1 job"},
		{upkeep.JobStatus{Name: "rollover", Holder: true, Failed: 2, Error: "down"}, wire.CheckOK, "runs 2 jobs"},
		{
			upkeep.JobStatus{Name: "rollover", Failed: 3, Error: "down"},
			wire.CheckWarn,
			"rollover failed 3 times (it has not succeeded yet): down",
		},
		{
			upkeep.JobStatus{Name: "rollover", Failed: 3, Error: "down", Succeeded: time.Now().Add(-time.Hour)},
			wire.CheckWarn, "rollover failed 3 times (it last succeeded 1h0m0s ago): down",
		},
		{
			upkeep.JobStatus{Name: "rollover", Failed: 3, Error: "no connection:\n\tone\n\ttwo"},
			wire.CheckWarn, "rollover failed 3 times (it has not succeeded yet): no connection: one two",
		},
	} {
		d := Doctor{Jobs: func() []upkeep.JobStatus { return []upkeep.JobStatus{good, tt.job} }}
		c := d.jobs(t.Context())
		if c.Status != tt.status || !strings.HasSuffix(c.Detail, tt.detail) ||
			(c.NextStep == "") != (tt.status == wire.CheckOK) {
			t.Errorf("%+v: got %+v, want %s: %s", tt.job, c, tt.status, tt.detail)
		}
	}
}

func TestJobsCheckShowsThree(t *testing.T) {
	t.Parallel()
	d := Doctor{Jobs: func() (all []upkeep.JobStatus) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			all = append(all, upkeep.JobStatus{Name: name, Failed: failedRuns, Error: "down"})
		}
		return all
	}}
	if got := d.jobs(t.Context()).Detail; !strings.Contains(got, "c failed") ||
		!strings.HasSuffix(got, "; and 2 jobs more") || strings.Contains(got, "d failed") {
		t.Errorf("got %q, want three jobs and how many more", got)
	}
}

// Every check that finds something names a page of the documentation.
func TestEveryFindingHasAPage(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	broken := Doctor{
		Postgres: func(context.Context) error { return down }, Redis: func(context.Context) error { return down },
		Kafka:      func(context.Context) error { return down },
		Schema:     func(context.Context) (string, string, error) { return "older", "migrate", nil },
		Role:       func(context.Context) (string, string, error) { return "", "no rights", nil },
		Durability: func(context.Context) (string, error) { return "fsync is off", nil },
		Outbox: outboxFunc(func() (*scoreboard.OutboxStatus, error) {
			return &scoreboard.OutboxStatus{Shards: []scoreboard.ShardStatus{{OldestAge: time.Hour}}}, nil
		}),
		History:      func(context.Context) (*repair.HistoryChange, error) { return &repair.HistoryChange{}, nil },
		RedisServers: func(context.Context) (string, float64, error) { return "it evicts", 0.9, nil },
		SetAside: func(context.Context) ([]ranking.SetAside, error) {
			return []ranking.SetAside{{Board: "b"}}, nil
		},
		Lag:      func() map[string]int64 { return map[string]int64{"t": lagWarn + 1} },
		Damage:   func() string { return "" },
		Current:  func() *config.Config { return &config.Config{Auth: config.Auth{DevIssuer: true}} },
		Settings: func() (string, bool) { return "reads.top_n: too high", false },
		Mirror:   func() string { return "behind" },
		Jobs:     func() []upkeep.JobStatus { return []upkeep.JobStatus{{Name: "teams", Failed: failedRuns}} },
		Secrets: func(context.Context) (scoreboard.Reencryption, error) {
			return scoreboard.Reencryption{Changed: 1}, nil
		},
		Replicas: func() string { return "one is behind" },
	}
	checkPages := func(checks []wire.Check) {
		t.Helper()
		for _, c := range checks {
			if c.Status != wire.CheckWarn && c.Status != wire.CheckFail {
				t.Logf("%s finds nothing: %s", c.Name, c.Detail)
				continue
			}
			_, err := fs.Stat(repository.Docs, "docs/"+c.Page+".md")
			if err != nil {
				_, err = fs.Stat(repository.Docs, "docs/runbook/"+c.Page+".md")
			}
			if err != nil {
				t.Errorf("%s names the page %q, which is not in the documentation", c.Name, c.Page)
			}
		}
	}
	all := broken.Checks(t.Context()).Checks
	checkPages(all)
	if found := len(slices.DeleteFunc(slices.Clone(all), func(c wire.Check) bool { return c.Page == "" })); found < 16 {
		t.Errorf("%d of %d checks name a page, want all but those of the disk and of the jobs", found, len(all))
	}
	for _, full := range []float64{0.65, 0.75} {
		broken.RedisServers = func(context.Context) (string, float64, error) { return "", full, nil }
		c := broken.redisServers(t.Context())
		if c.Page == "" {
			t.Errorf("Redis at %v names no page", full)
		}
		checkPages([]wire.Check{c})
	}
	broken.Damage = func() string { return "a log was cut" }
	checkPages([]wire.Check{broken.lag(t.Context())})
	checkPages([]wire.Check{{Name: "disk", Status: wire.CheckWarn, Page: pageOf["disk"]}})

	// Failures of jobs have one cause while a backend is down, which its own check names.
	jobs := func(checks []wire.Check) wire.Check {
		i := slices.IndexFunc(checks, func(c wire.Check) bool { return c.Name == jobsCheck })
		return checks[i]
	}
	if c := jobs(all); c.Status != wire.CheckSkipped || strings.Contains(c.Detail, "teams") {
		t.Errorf("while backends are down: got %+v, want it skipped", c)
	}
	up := func(context.Context) error { return nil }
	broken.Postgres, broken.Redis, broken.Kafka = up, up, up
	c := jobs(broken.Checks(t.Context()).Checks)
	if c.Status != wire.CheckWarn {
		t.Errorf("while backends answer: got %+v, want a warning", c)
	}
	checkPages([]wire.Check{c})
}

type outboxFunc func() (*scoreboard.OutboxStatus, error)

func (f outboxFunc) OutboxStatus(context.Context) (*scoreboard.OutboxStatus, error) { return f() }

func TestBoardsCheckNamesBrokenOnes(t *testing.T) {
	t.Parallel()
	one := ranking.SetAside{Board: "global", At: time.Unix(1_800_000_000, 0).UTC(), Reason: "WRONGTYPE"}
	for _, tt := range []struct {
		list   []ranking.SetAside
		err    error
		want   string
		detail string
	}{
		{want: wire.CheckOK, detail: "no key"},
		{
			list: []ranking.SetAside{one}, want: wire.CheckWarn,
			detail: "1 board set aside and rebuilt because a key in Redis was broken: " +
				"global at 2027-01-15T08:00:00Z (WRONGTYPE)",
		},
		{list: slices.Repeat([]ranking.SetAside{one}, 1000), want: wire.CheckWarn, detail: "1000 boards set aside"},
		{err: errors.New("no connection"), want: wire.CheckSkipped, detail: "unknown"},
	} {
		d := Doctor{SetAside: func(context.Context) ([]ranking.SetAside, error) { return tt.list, tt.err }}
		c := d.boards(t.Context())
		if c.Status != tt.want || !strings.HasPrefix(c.Detail, tt.detail) || strings.Count(c.Detail, one.Reason) > 5 {
			t.Errorf("%+v: got %+v", tt, c)
		}
	}
}

func TestRedisServerCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		problem string
		used    float64
		err     error
		want    string
		next    string
	}{
		{used: 0.59, want: wire.CheckOK},
		{used: 0, want: wire.CheckOK}, // a stand-in
		{used: 0.61, want: wire.CheckWarn, next: "plan"},
		{used: 0.71, want: wire.CheckWarn, next: "add memory"},
		{used: 0.71, problem: "it evicts", want: wire.CheckWarn, next: "correct"},
		{err: errors.New("no connection"), want: wire.CheckSkipped},
	} {
		d := Doctor{RedisServers: func(context.Context) (string, float64, error) { return tt.problem, tt.used, tt.err }}
		c := d.redisServers(t.Context())
		if c.Status != tt.want || !strings.HasPrefix(c.NextStep, tt.next) || (tt.next == "") != (c.NextStep == "") {
			t.Errorf("%+v: got %+v", tt, c)
		}
	}
}
