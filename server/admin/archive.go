package admin

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/history"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
)

// Archive moves old partitions of the ledger to the archive, and reads them, on request.
type Archive struct {
	archiver *archive.Archive
	moments  *history.Moments
	job      upkeep.Job    // one reading of the archive at a time
	slot     chan struct{} // in this process: the lease is of the process
}

// The lease of the one process that reads the archive.
const (
	readLease     = "archive reading"
	readLeaseLife = 30 * time.Second
)

// NewArchive returns an Archive; owner names this process in the lease.
func NewArchive(
	a *archive.Archive, m *history.Moments, l upkeep.Leases, owner string, log *slog.Logger,
) *Archive {
	return &Archive{
		archiver: a, moments: m, slot: make(chan struct{}, 1),
		job: upkeep.Job{
			Leases: l, Name: readLease, Owner: owner, Life: readLeaseLife, Interval: readLeaseLife / 4, Log: log,
		},
	}
}

var errArchiveRead = scoreboard.Errorf(wire.CodeConflict,
	"the archive is already being read for another moment; try again later")

// Checkpoint implements api.Archive.
func (a *Archive) Checkpoint(
	ctx context.Context, board *scoreboard.Board, at time.Time, progress func(rows int64),
) (*scoreboard.KeptCheckpoint, error) {
	select {
	case a.slot <- struct{}{}:
		defer func() { <-a.slot }()
	default:
		return nil, errArchiveRead
	}
	var made *scoreboard.KeptCheckpoint
	err := a.job.Hold(ctx, func(ctx context.Context) (err error) {
		made, err = a.moments.MakeArchived(ctx, board, at, func(
			ctx context.Context, do func(*scoreboard.ArchivedRow) error,
		) error {
			return a.archiver.Rows(ctx, board.ID, board.Created, at, do)
		}, progress)
		return err
	})
	if errors.Is(err, upkeep.ErrLost) {
		return nil, errArchiveRead
	}
	return made, err
}

// Archive archives what is old enough; a dry run lists it.
func (a *Archive) Archive(ctx context.Context, dry bool) (*wire.Archived, error) {
	started := time.Now()
	out := &wire.Archived{Partitions: []wire.ArchivedPartition{}, DryRun: dry}
	if dry {
		old, err := a.archiver.ListOld(ctx)
		for _, p := range old {
			out.Partitions = append(out.Partitions, wire.ArchivedPartition{
				Partition: p.Name, From: p.From,
				To: p.To,
			})
		}
		out.TookMS = time.Since(started).Milliseconds()
		return out, err
	}
	done, err := a.archiver.ArchiveOld(ctx)
	for _, m := range done {
		out.Partitions = append(out.Partitions, wire.ArchivedPartition{
			Partition: m.Partition, From: m.From, To: m.To, Rows: m.Rows, File: m.File, Bytes: m.Bytes,
			SHA256: m.SHA256,
		})
	}
	out.TookMS = time.Since(started).Milliseconds()
	return out, err
}
