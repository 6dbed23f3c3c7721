package config

import (
	"net/netip"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Outbox is how the relay publishes committed changes.
type Outbox struct {
	Shards int
	Batch  int
	Poll   time.Duration
	Pause  time.Duration
	Lease  time.Duration
}

const (
	minOutboxPoll  = 10 * time.Millisecond // an idle relay must not query without pause
	maxOutboxBatch = 10_000                // held in memory at once
)

func (o *Outbox) settings() []setting {
	return []setting{
		{"outbox.shards", "number of shards; each is published by one relay at a time", "1", fixed, &o.Shards},
		{"outbox.batch", "maximum number of rows read and published at once", "500", live, &o.Batch},
		{"outbox.poll", "interval at which an idle shard is polled", "50ms", live, &o.Poll},
		{"outbox.pause", "pause between two batches that were not full", "25ms", live, &o.Pause},
		{
			"outbox.lease", "time after which another relay takes over the shard of a dead one",
			"1500ms", fixed, &o.Lease,
		},
	}
}

func (o *Outbox) check(p *problems) {
	p.atLeast("outbox.shards", o.Shards, 1)
	p.between("outbox.batch", o.Batch, 1, maxOutboxBatch)
	p.durationAtLeast("outbox.poll", o.Poll, minOutboxPoll)
	p.durationAtLeast("outbox.pause", o.Pause, 0)
	p.positive("outbox.lease", o.Lease)
}

// Projection is how events are applied to the rankings.
type Projection struct{ Batch int }

func (r *Projection) settings() []setting {
	return []setting{{"projection.batch", "maximum number of records applied at once", "500", fixed, &r.Batch}}
}

func (r *Projection) check(p *problems) { p.atLeast("projection.batch", r.Batch, 1) }

// Reconcile is how rankings are compared with PostgreSQL.
type Reconcile struct {
	Repair bool
	Every  time.Duration
}

func (r *Reconcile) settings() []setting {
	return []setting{
		{
			"reconcile.repair",
			"repair differences from PostgreSQL that the sampler or the full comparison finds in a ranking",
			"true", fixed, &r.Repair,
		},
		{
			"reconcile.every",
			"interval between full comparisons of every board, over all nodes and their restarts; 0 disables them",
			"24h", fixed, &r.Every,
		},
	}
}

func (r *Reconcile) check(p *problems) { p.durationAtLeast("reconcile.every", r.Every, 0) }

// Boards is how periods of boards end.
type Boards struct{ CloseGrace time.Duration }

func (b *Boards) settings() []setting {
	return []setting{{
		"boards.close_grace",
		"time after the end of a period in which increments accepted before it can be recorded",
		"1m", fixed, &b.CloseGrace,
	}}
}

// Ledger is where old partitions of the ledger go.
type Ledger struct {
	Window  int
	Archive string
	Keep    time.Duration

	CheckpointEvents int
	CheckpointKeep   time.Duration
}

// RepeatWindow is the window in which repeats are recognised.
func (l *Ledger) RepeatWindow() scoreboard.Window { return scoreboard.Window(l.Window) }

func (l *Ledger) settings() []setting {
	return []setting{
		{
			"ledger.window", "number of ledger partitions, of a month each, in which repeats are recognised: 2 to 4, " +
				"the same on all nodes; attestations and queued increments are valid for 25, 56 or 86 days at most",
			"2", fixed, &l.Window,
		},
		{
			"ledger.archive", "archive of old ledger partitions: a folder, or " +
				"s3://bucket/prefix?endpoint=URL&region=NAME; " +
				"if empty they stay in the database", "", fixed, &l.Archive,
		},
		{
			"ledger.keep",
			"age at which a partition is archived; partitions needed to recognise repeats are kept longer",
			"2160h", fixed, &l.Keep,
		},
		{
			"ledger.checkpoint_events",
			"number of events after which the standings of a board that changed are stored, so that the board at a " +
				"moment is read fast: 1000 to 500000; each checkpoint takes about 7.4 bytes for each user",
			"100000", fixed, &l.CheckpointEvents,
		},
		{
			"ledger.checkpoint_keep",
			"time for which the board at a moment is read by checkpoints; the newest one of each board stays",
			"720h", fixed, &l.CheckpointKeep,
		},
	}
}

func (l *Ledger) check(p *problems) {
	p.between("ledger.window", l.Window, int(scoreboard.DefaultWindow), int(scoreboard.MaxWindow))
	p.between("ledger.checkpoint_events", l.CheckpointEvents, 1000, 500_000)
	p.durationAtLeast("ledger.checkpoint_keep", l.CheckpointKeep, time.Hour)
}

// Webhooks is where messages to webhooks may go.
type Webhooks struct{ Networks []netip.Prefix }

func (w *Webhooks) settings() []setting {
	return []setting{{
		"webhooks.networks",
		"networks (CIDR) in which webhooks are called besides public addresses, such as 10.0.0.0/8; if empty, " +
			"public addresses only",
		"", fixed, &w.Networks,
	}}
}

// Import is how fast scores of other systems are written.
type Import struct{ RecordsPerSecond int }

func (i *Import) settings() []setting {
	return []setting{{
		"import.records_per_second", "maximum number of imported records that a node writes a second, " +
			"in one transaction at a time, so that increments have precedence",
		"20000", fixed, &i.RecordsPerSecond,
	}}
}

func (i *Import) check(p *problems) {
	p.between("import.records_per_second", i.RecordsPerSecond, minImportRate, maxImportRate)
}

const (
	// The largest request waits at most a second: one that would wait for more than two is
	// rejected, at a lower rate each time.
	minImportRate = scoreboard.MaxImportRecords
	maxImportRate = 1_000_000
)

// Retention is how long personal data is kept.
type Retention struct{ Addresses time.Duration }

func (r *Retention) settings() []setting {
	return []setting{{
		"retention.addresses", "how long the ledger keeps addresses, user agents and countries; 0s keeps them " +
			"as long as the ledger",
		"2160h", live, &r.Addresses,
	}}
}

func (r *Retention) check(p *problems) { p.durationAtLeast("retention.addresses", r.Addresses, 0) }
