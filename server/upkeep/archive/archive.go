package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// Store is the store of the partitions. DetachPartition returns CodeConflict
// for a partition whose row count differs from the archived one.
type Store interface {
	OldPartitions(ctx context.Context, keep time.Duration) ([]scoreboard.Partition, error)
	// Detached lists the names of the partitions that are in the archive only.
	Detached(ctx context.Context) ([]string, error)
	ReadPartition(ctx context.Context, p scoreboard.Partition, size int, do func(lines []string) error) error
	DetachPartition(ctx context.Context, p scoreboard.Partition, rows int64) error
	DropPartition(ctx context.Context, p scoreboard.Partition) error
}

// Options are the settings of the archive.
type Options struct {
	Storage Storage
	Keep    time.Duration // partitions entirely older than this are archived
}

const (
	interval  = time.Hour
	lease     = "archive"
	leaseTTL  = 30 * time.Second
	chunkRows = 2000
)

// Archive moves old partitions of the ledger to files.
type Archive struct {
	o      Options
	store  Store
	log    *slog.Logger
	now    func() time.Time
	runner *upkeep.Runner
	job    *upkeep.Job

	partitions, rows, failures prometheus.Counter
}

// New returns an Archive; Run starts it.
func New(o Options, from Store, r *upkeep.Runner, log *slog.Logger, now func() time.Time) *Archive {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_archive_" + name, Help: help})
	}
	a := &Archive{
		o: o, store: from, log: log, now: now, runner: r,
		partitions: counter("partitions_total", "Ledger partitions archived and dropped."),
		rows:       counter("rows_total", "Ledger rows archived and dropped."),
		failures:   counter("failures_total", "Failed attempts to archive a partition, which stays and is retried."),
	}
	// Without a lease of its own: ArchiveOld holds one, also at an operator's request.
	a.job = r.NewJob(upkeep.JobOptions{
		Name: "archive", Interval: interval, Failure: "ledger not archived", Level: slog.LevelWarn,
	})
	return a
}

// Collectors returns the metrics to register.
func (a *Archive) Collectors() []prometheus.Collector {
	return []prometheus.Collector{a.partitions, a.rows, a.failures}
}

// Run archives old partitions every hour until ctx ends.
func (a *Archive) Run(ctx context.Context) error {
	return a.job.Run(ctx, func(ctx context.Context) error {
		_, err := a.ArchiveOld(ctx)
		return err
	})
}

// ListOld lists the partitions that ArchiveOld would archive now.
func (a *Archive) ListOld(ctx context.Context) ([]scoreboard.Partition, error) {
	return a.store.OldPartitions(ctx, a.o.Keep)
}

// ArchiveOld archives every old partition, the oldest first. It returns the
// manifests of those that were dropped, also with an error: upkeep.ErrLost while another
// call works on the storage, in any process.
func (a *Archive) ArchiveOld(ctx context.Context) (done []Manifest, err error) {
	err = a.runner.Hold(ctx, lease, leaseTTL, func(ctx context.Context) (err error) {
		done, err = a.archiveOld(ctx)
		return err
	})
	if err != nil && !errors.Is(err, upkeep.ErrLost) {
		a.failures.Inc()
	}
	return done, err
}

func (a *Archive) archiveOld(ctx context.Context) (done []Manifest, err error) {
	old, err := a.ListOld(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range old {
		m, err := a.move(ctx, p)
		if err != nil {
			return done, err
		}
		a.log.Info("partition archived", "partition", p.Name, "rows", m.Rows, "file", m.File)
		a.partitions.Inc()
		a.rows.Add(float64(m.Rows))
		done = append(done, *m)
	}
	return done, nil
}

// move archives and drops one partition, continuing an interrupted attempt.
func (a *Archive) move(ctx context.Context, p scoreboard.Partition) (*Manifest, error) {
	m, err := findIntact(ctx, a.o.Storage, p)
	if err != nil && !errors.Is(err, errDamaged) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		a.log.Warn("rewriting the archive", "partition", p.Name, "err", err)
	}
	if m == nil || err != nil {
		if m, err = a.write(ctx, p); err != nil {
			return nil, err
		}
	}
	if p.Attached {
		err := a.store.DetachPartition(ctx, p, m.Rows)
		if wire.CodeOf(err) == wire.CodeConflict { // rows were added after it was written
			a.log.Warn("rewriting the archive", "partition", p.Name, "err", err)
			if m, err = a.write(ctx, p); err == nil {
				err = a.store.DetachPartition(ctx, p, m.Rows)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if err := a.store.DropPartition(ctx, p); err != nil {
		return nil, err
	}
	return m, nil
}

func (a *Archive) write(ctx context.Context, p scoreboard.Partition) (*Manifest, error) {
	m, err := write(ctx, a.o.Storage, p, a.now(), func(do func(lines []string) error) error {
		return a.store.ReadPartition(ctx, p, chunkRows, do)
	})
	if err != nil {
		return nil, fmt.Errorf("archive partition %s: %w", p.Name, err)
	}
	return m, nil
}
