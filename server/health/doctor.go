package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// Limits of a healthy installation.
const (
	checkTimeout    = 2 * time.Second // of all checks together; they run in parallel
	slowBackend     = 250 * time.Millisecond
	outboxWarnAge   = 10 * time.Second // the relay publishes within milliseconds
	outboxFailAge   = time.Minute
	horizonWarnAge  = time.Minute
	lagWarn         = 50_000 // records: a few seconds of full load
	diskWarn        = 0.10   // of it free
	diskFail        = 0.03
	redisFilling    = 0.60 // of its memory
	redisFull       = 0.70
	failedRuns      = 3 // of a job, in sequence
	latencyRounding = 100 * time.Microsecond
)

// Ping asks a backend for any answer.
type Ping func(ctx context.Context) error

// Outbox reports what waits to be published.
type Outbox interface {
	OutboxStatus(ctx context.Context) (*scoreboard.OutboxStatus, error)
}

// Doctor runs the checks of "sbctl doctor".
type Doctor struct {
	Postgres, Redis Ping
	Kafka           Ping // nil in a process that does not use Kafka
	Schema          Schema
	// Role describes what the daemon's role in PostgreSQL has beyond its needs, and what
	// it lacks.
	Role func(ctx context.Context) (excess, lack string, err error)
	// Durability describes what may happen to acknowledged increments, "" if nothing can.
	Durability func(ctx context.Context) (risk string, err error)
	Outbox     Outbox
	History    func(ctx context.Context) (*repair.HistoryChange, error)
	// RedisServers describes how Redis can lose rankings, "" if it cannot, and returns the
	// used share of its memory, 0 if unknown.
	RedisServers func(ctx context.Context) (problem string, used float64, err error)
	// SetAside lists the boards that were set aside because of what their keys in Redis held.
	SetAside func(ctx context.Context) ([]ranking.SetAside, error)
	Lag      func() map[string]int64 // of every group, by topic
	// Damage describes the damaged logs of this process's consumers; "" without any.
	Damage   func() string
	Current  func() *config.Config // with the changes of operators
	Settings Settings
	// Mirror describes what keeps the feeds of the role mirror from being complete and
	// current, "" if nothing does; nil in a process without the role.
	Mirror func() string
	// Jobs is the status of the work beside requests; nil in a process without the role
	// maintenance.
	Jobs func() []upkeep.JobStatus
	// Secrets tells which stored secrets the first master key has not encrypted; nil in a process
	// that reads none.
	Secrets func(ctx context.Context) (scoreboard.Reencryption, error)
	// Replicas describes the replicas that nodes with the role read do not read, "" if they
	// read all; nil without one.
	Replicas func() string
}

// Checks runs every check at once: a backend that hangs delays its own only.
func (d Doctor) Checks(ctx context.Context) wire.Checks {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	checks := []func(context.Context) wire.Check{
		d.postgres, d.schema, d.role, d.durability, d.redis, d.redisServers, d.boards,
	}
	if d.Kafka != nil {
		checks = append(checks, d.kafka)
	}
	checks = append(checks, d.history, d.outbox, d.lag, d.disk, d.configuration, d.settings)
	if d.Jobs != nil {
		checks = append(checks, d.jobs)
	}
	if d.Mirror != nil {
		checks = append(checks, d.mirror)
	}
	if d.Replicas != nil {
		checks = append(checks, d.replicas)
	}
	if d.Secrets != nil {
		checks = append(checks, d.secrets)
	}
	found := make([]wire.Check, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() { found[i] = check(ctx) })
	}
	all.Wait()
	skipJobs(found)
	for i := range found {
		if c := &found[i]; c.Status == wire.CheckWarn || c.Status == wire.CheckFail {
			c.Page = cmp.Or(c.Page, pageOf[c.Name])
		}
	}
	return wire.Checks{Version: buildinfo.Read().Version, Checks: found}
}

// jobsCheck is the name of the check of background jobs.
const jobsCheck = "background jobs"

// skipJobs removes the failures of jobs while a backend does not answer. They have that one
// cause, which its own check names, and would hide it.
func skipJobs(found []wire.Check) {
	if !slices.ContainsFunc(found, func(c wire.Check) bool {
		return c.Status == wire.CheckFail && slices.Contains([]string{"postgres", "redis", "kafka"}, c.Name)
	}) {
		return
	}
	for i, c := range found {
		if c.Name == jobsCheck && c.Status == wire.CheckWarn {
			found[i] = wire.Check{
				Name: jobsCheck, Status: wire.CheckSkipped,
				Detail: "unknown: jobs fail while a backend does not answer",
			}
		}
	}
}

// pageOf names the page of the documentation about what a check finds. A check that finds different
// things names the page itself.
var pageOf = map[string]string{
	"postgres": "lost-postgresql", "schema": "upgrade", "database role": "security", "durability": "lost-postgresql",
	"redis": "lost-redis", "redis server": "redis", "boards": "boards-degraded", "kafka": "lost-kafka",
	"history": "store-history-changed", "outbox": "outbox-age", "lag": "consumer-lag", "disk": "capacity",
	"configuration": "security", "settings": "settings", jobsCheck: "runbook", "mirror": "mirror-behind",
	"replicas": "replica-not-read", "master key": "rotate-master-key",
}

// describe says what is wrong with a backend that Ping returned an error of. Only a
// SetupError is fit to be shown.
func describe(err error) string {
	if setup := new(scoreboard.SetupError); errors.As(err, &setup) {
		return setup.Error()
	}
	return "does not answer"
}

func ping(ctx context.Context, name, next string, ping Ping) wire.Check {
	began := time.Now()
	if err := ping(ctx); err != nil {
		c := wire.Check{Name: name, Status: wire.CheckFail, Detail: describe(err), NextStep: next}
		if setup := new(scoreboard.SetupError); errors.As(err, &setup) {
			c.Detail, c.NextStep = setup.Setting+": "+setup.Problem, setup.Fix
		}
		return c
	}
	took := time.Since(began)
	c := wire.Check{
		Name: name, Status: wire.CheckOK, Detail: fmt.Sprintf("answers in %v", took.Round(latencyRounding)),
	}
	if took > slowBackend {
		c.Status, c.NextStep = wire.CheckWarn, "it is slow: check its load and the network to it"
	}
	return c
}

func (d Doctor) postgres(ctx context.Context) wire.Check {
	return ping(ctx, "postgres",
		"no writes are accepted until it is back: check PostgreSQL, PgBouncer if you use it, and postgres.url",
		d.Postgres)
}

func (d Doctor) schema(ctx context.Context) wire.Check {
	c := wire.Check{Name: "schema", Status: wire.CheckOK, Detail: "supported by this version"}
	problem, next, err := d.Schema(ctx)
	setup := new(scoreboard.SetupError)
	switch {
	case errors.As(err, &setup):
		c.Status, c.Detail, c.NextStep = wire.CheckFail, setup.Setting+": "+setup.Problem, setup.Fix
	case err != nil:
		c.Status, c.Detail = wire.CheckSkipped, "unknown: PostgreSQL does not answer"
	case problem != "":
		c.Status, c.Detail, c.NextStep = wire.CheckFail, problem, next
	}
	return c
}

// role warns about a daemon that could rewrite the audit trail.
func (d Doctor) role(ctx context.Context) wire.Check {
	c := wire.Check{
		Name: "database role", Status: wire.CheckOK,
		Detail: "cannot change the schema, the audit trail or the ledger",
	}
	excess, lack, err := d.Role(ctx)
	switch {
	case err != nil:
		c.Status, c.Detail = wire.CheckSkipped, "unknown: PostgreSQL does not answer, or has no schema"
	case lack != "":
		c.Status, c.Detail = wire.CheckFail, lack
		c.NextStep = `run "sbctl migrate up" as the owner with SCOREBOARD_POSTGRES_URL set to the daemon's`
	case excess != "":
		c.Status, c.Detail = wire.CheckWarn, excess+": the daemon could rewrite the audit trail and the ledger"
		c.NextStep = "give postgres.url a role of its own, and postgres.direct_url the owner"
	}
	return c
}

// durability warns where what was acknowledged can be lost.
func (d Doctor) durability(ctx context.Context) wire.Check {
	c := wire.Check{Name: "durability", Status: wire.CheckOK, Detail: "acknowledged increments survive a crash"}
	risk, err := d.Durability(ctx)
	switch {
	case err != nil:
		c.Status, c.Detail = wire.CheckSkipped, "unknown: PostgreSQL does not answer"
	case risk != "":
		c.Status, c.Detail = wire.CheckWarn, risk
		c.NextStep = "change it, or accept the loss"
	}
	return c
}

func (d Doctor) redis(ctx context.Context) wire.Check {
	return ping(ctx, "redis", "reads come from PostgreSQL until it is back: check Redis and redis.url", d.Redis)
}

// redisServers warns before Redis evicts rankings, loses them in a restart, or is full.
func (d Doctor) redisServers(ctx context.Context) wire.Check {
	c := wire.Check{Name: "redis server", Status: wire.CheckOK}
	problem, used, err := d.RedisServers(ctx)
	if err != nil {
		c.Status, c.Detail = wire.CheckSkipped, "unknown: Redis does not answer"
		return c
	}
	c.Detail = fmt.Sprintf("uses %.0f %% of its memory", 100*used)
	if used == 0 {
		c.Detail = "does not say how much memory it uses"
	}
	switch {
	case problem != "":
		c.Status, c.Detail = wire.CheckWarn, problem
		c.NextStep = "correct the configuration of Redis"
	case used > redisFull:
		c.Status, c.NextStep, c.Page = wire.CheckWarn, "add memory or archive boards now", "redis-memory"
	case used > redisFilling:
		c.Status, c.NextStep, c.Page = wire.CheckWarn, "plan more memory or a cluster", "redis-growth"
	}
	return c
}

// secrets warns about stored secrets that would be lost without the second master key, or are.
func (d Doctor) secrets(ctx context.Context) wire.Check {
	c := wire.Check{Name: "master key", Status: wire.CheckOK}
	r, err := d.Secrets(ctx)
	if err != nil {
		c.Status, c.Detail = wire.CheckSkipped, "unknown: PostgreSQL does not answer"
		return c
	}
	c.Detail = english.Count(r.Unchanged, "stored secret") + " encrypted with the first master key"
	switch {
	case len(r.Unreadable) > 0:
		c.Status = wire.CheckWarn
		c.Detail = "no master key of this node decrypts the secrets of " + strings.Join(r.Unreadable, ", ")
		c.NextStep = "add their key to auth.master_key, or give each a new secret"
	case r.Changed > 0:
		c.Status = wire.CheckWarn
		c.Detail = english.Count(r.Changed, "stored secret") + " still encrypted with the second master key"
		c.NextStep = "run sbctl key rotate --master before that key is removed"
	}
	return c
}

// boardsShown bounds the boards that a check names.
const boardsShown = 5

// boards warns about boards of which a key in Redis was broken.
func (d Doctor) boards(ctx context.Context) wire.Check {
	c := wire.Check{Name: "boards", Status: wire.CheckOK, Detail: "no key of a board was broken in the last day"}
	list, err := d.SetAside(ctx)
	if err != nil {
		c.Status, c.Detail = wire.CheckSkipped, "unknown: Redis does not answer"
		return c
	}
	if len(list) == 0 {
		return c
	}
	var named []string
	for _, b := range list[:min(len(list), boardsShown)] {
		named = append(named, fmt.Sprintf("%s at %s (%s)", b.Board, b.At.Format(time.RFC3339), b.Reason))
	}
	c.Status = wire.CheckWarn
	c.Detail = english.Count(len(list), "board") + " set aside and rebuilt because a key in Redis was broken: " +
		strings.Join(named, "; ")
	c.NextStep = "find who else writes to this Redis (ACL LOG, CLIENT LIST): no other program may change keys sb:*"
	return c
}

func (d Doctor) kafka(ctx context.Context) wire.Check {
	return ping(ctx, "kafka", "changes wait in the outbox until it is back: check the brokers and kafka.brokers",
		d.Kafka)
}

// history compares the database with the one that the ranking was built from and
// the relay published.
func (d Doctor) history(ctx context.Context) wire.Check {
	c := wire.Check{Name: "history"}
	change, err := d.History(ctx)
	switch {
	case err != nil:
		c.Status, c.Detail = wire.CheckSkipped, "unknown: PostgreSQL or Redis does not answer"
	case change == nil:
		c.Status, c.Detail = wire.CheckOK, "PostgreSQL is the database that was published and ranked"
	case change.SameDatabase:
		c.Status, c.Detail = wire.CheckFail, change.String()
		c.NextStep = "every board is being rebuilt; if this persists, check that a process with the role " +
			"maintenance is running"
	default:
		c.Status, c.Detail = wire.CheckFail, change.String()+"; publishing is halted"
		c.NextStep = `if this is the right database, run "sbctl rebuild --all"; otherwise correct postgres.url`
	}
	return c
}

func (d Doctor) outbox(ctx context.Context) wire.Check {
	status, err := d.Outbox.OutboxStatus(ctx)
	if err != nil {
		return wire.Check{
			Name: "outbox", Status: wire.CheckSkipped,
			Detail: "unknown: PostgreSQL does not answer",
		}
	}
	var depth int64
	var oldest time.Duration
	var stuck string
	for _, shard := range status.Shards {
		depth += shard.Depth
		oldest = max(oldest, shard.OldestAge)
		if shard.Attempts > 0 {
			stuck = fmt.Sprintf("shard %d failed %s: %s", shard.Shard, english.Count(shard.Attempts, "time"),
				shard.LastError)
		}
	}
	c := wire.Check{
		Name: "outbox", Status: wire.CheckOK, Detail: english.Count(depth, "change") + " pending",
	}
	if depth > 0 {
		c.Detail += fmt.Sprintf(", the oldest for %v", oldest.Round(time.Millisecond))
	}
	switch {
	case oldest > outboxFailAge:
		c.Status = wire.CheckFail
		c.NextStep = "nothing is being published: check that a process with the role relay is running; " +
			`"sbctl outbox status" shows who owns each shard`
	case stuck != "":
		c.Status, c.Detail = wire.CheckWarn, c.Detail+"; "+stuck
		c.NextStep = "check the broker; a change that can never be published goes to the dead letters"
	case status.HorizonAge > horizonWarnAge:
		c.Status = wire.CheckWarn
		c.Detail = fmt.Sprintf("%s; a transaction has been open for %v", c.Detail, status.HorizonAge.Round(time.Second))
		c.NextStep = "changes after it are not published: end it (pg_stat_activity) and set " +
			"idle_in_transaction_session_timeout"
	case oldest > outboxWarnAge:
		c.Status, c.NextStep = wire.CheckWarn, "the relay is behind: check its log and the broker"
	}
	return c
}

// lag is how many records the consumers of all processes have yet to read.
func (d Doctor) lag(context.Context) wire.Check {
	var records int64
	for _, n := range d.Lag() {
		records += n
	}
	c := wire.Check{Name: "lag", Status: wire.CheckOK, Detail: english.Count(records, "record") + " to consume"}
	if damage := d.Damage(); damage != "" {
		c.Status, c.Detail, c.Page = wire.CheckWarn, c.Detail+"; "+damage, "log-damaged"
		c.NextStep = "the broker lost records that it had acknowledged: check its disks and " +
			"unclean.leader.election.enable; rankings were rebuilt, but accepted increments that it lost must be " +
			"submitted again"
	} else if records > lagWarn {
		c.Status = wire.CheckWarn
		c.NextStep = "the consumers are behind: check Redis (projector) and PostgreSQL (intake), or add processes " +
			"with these roles"
	}
	return c
}

func (d Doctor) disk(context.Context) wire.Check {
	free, total, err := diskOf(".")
	if err != nil || total == 0 {
		return wire.Check{Name: "disk", Status: wire.CheckSkipped, Detail: "unknown on this system"}
	}
	share := float64(free) / float64(total)
	c := wire.Check{
		Name: "disk", Status: wire.CheckOK,
		Detail: fmt.Sprintf("%.1f GiB (%.0f %%) free where the server runs", float64(free)/(1<<30), 100*share),
	}
	if share < diskWarn {
		c.Status, c.NextStep = wire.CheckWarn, "free up space, or move archives and data to another disk"
	}
	if share < diskFail {
		c.Status = wire.CheckFail
	}
	return c
}

// settings names the stored settings that this node does not follow.
func (d Doctor) settings(context.Context) wire.Check {
	c := wire.Check{Name: "settings", Status: wire.CheckOK, Detail: "as operators have stored them"}
	detail, unsafe := d.Settings()
	if detail == "" {
		return c
	}
	host, _ := os.Hostname() // "" is fine
	c.Status, c.Detail = wire.CheckWarn, "node "+host+": "+detail
	c.NextStep = "deploy the node like the others, or change the setting (sbctl settings set)"
	if unsafe {
		c.Status = wire.CheckFail
	}
	return c
}

// jobsShown bounds the failing jobs that the check describes.
const jobsShown = 3

// jobs warns about jobs of this process that fail again and again. One failure is an outage
// that other checks name.
func (d Doctor) jobs(context.Context) wire.Check {
	c := wire.Check{Name: jobsCheck, Status: wire.CheckOK}
	held := 0
	var failing []string
	for _, j := range d.Jobs() {
		if j.Holder {
			held++
		}
		if j.Failed >= failedRuns {
			last := "it has not succeeded yet"
			if !j.Succeeded.IsZero() {
				last = fmt.Sprintf("it last succeeded %v ago", time.Since(j.Succeeded).Round(time.Second))
			}
			failing = append(failing, fmt.Sprintf("%s failed %s (%s): %s", j.Name,
				english.Count(j.Failed, "time"), last, strings.Join(strings.Fields(j.Error), " ")))
		}
	}
	c.Detail = "this process runs " + english.Count(held, "job")
	if len(failing) > 0 {
		c.Status, c.Detail = wire.CheckWarn, strings.Join(failing[:min(len(failing), jobsShown)], "; ")
		if more := len(failing) - jobsShown; more > 0 {
			c.Detail += fmt.Sprintf("; and %s more", english.Count(more, "job"))
		}
		c.NextStep = "the next run continues; if it persists, see the log of this process"
	}
	return c
}

// mirror warns about feeds that wait or miss changes.
func (d Doctor) mirror(context.Context) wire.Check {
	c := wire.Check{Name: "mirror", Status: wire.CheckOK, Detail: "every feed is written"}
	if problem := d.Mirror(); problem != "" {
		c.Status, c.Detail = wire.CheckWarn, problem
		c.NextStep = "check the backend of the feed; changes wait in the transport for as long as its retention"
	}
	return c
}

// replicas warns about reads that come to the primaries for want of a replica.
func (d Doctor) replicas(context.Context) wire.Check {
	c := wire.Check{Name: "replicas", Status: wire.CheckOK, Detail: "read by nodes with the role read"}
	if problem := d.Replicas(); problem != "" {
		c.Status, c.Detail = wire.CheckWarn, problem
		c.NextStep = "nodes with the role read use the primary instead"
	}
	return c
}

// configuration warns about settings that are for development only, as they are in force now.
func (d Doctor) configuration(context.Context) wire.Check {
	c := d.Current()
	check := wire.Check{
		Name: "configuration", Status: wire.CheckOK,
		Detail: fmt.Sprintf("roles %v, transport %s", c.Roles, c.Transport),
	}
	var insecure []string
	if c.Auth.Signature == config.SignatureOptional {
		insecure = append(insecure, "auth.signature is optional: a bearer token alone is enough to write")
	}
	if c.Auth.DevIssuer {
		insecure = append(insecure, "auth.dev_issuer is on: score:admin can issue tokens for any user")
	}
	if c.Limit.UpdatesPerMinute == 0 && c.Has(config.RoleAPI) {
		insecure = append(insecure, "limit.updates_per_minute is off")
	}
	for _, name := range c.Dialects.Unsigned() {
		insecure = append(insecure, fmt.Sprintf("dialect.%s.signature is optional: a bearer token alone is enough to "+
			"write to board %s and to boards with rules", name, c.Dialects.Named(name).Board))
	}
	if insecure != nil {
		check.Status, check.Detail = wire.CheckWarn, strings.Join(insecure, "; ")
		check.NextStep = `acceptable in development; elsewhere change it ("sbctl settings list" shows where it was set)`
	}
	return check
}
