package admin

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/history"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
)

// Archive moves old partitions of the ledger to the archive, and reads them, on request.
type Archive struct {
	archiver   *archive.Archive
	pastBoards *history.PastBoards
	runner     *upkeep.Runner
}

// The lease of the one process that reads the archive.
const (
	readLease    = "archive reading"
	readLeaseTTL = 30 * time.Second
)

// NewArchive returns an Archive.
func NewArchive(a *archive.Archive, m *history.PastBoards, r *upkeep.Runner) *Archive {
	return &Archive{archiver: a, pastBoards: m, runner: r}
}

var (
	errArchiveRead = scoreboard.Errorf(wire.CodeConflict,
		"the archive is already being read for another moment; try again later")
	errArchiving = scoreboard.Errorf(wire.CodeConflict,
		"the ledger is already being archived; try again later")
)

// Checkpoint implements api.Archive.
func (a *Archive) Checkpoint(
	ctx context.Context, board *scoreboard.Board, at time.Time, progress func(rows int64),
) (*scoreboard.KeptCheckpoint, error) {
	var made *scoreboard.KeptCheckpoint
	err := a.runner.Hold(ctx, readLease, readLeaseTTL, func(ctx context.Context) (err error) {
		made, err = a.pastBoards.MakeArchived(ctx, board, at, func(
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
	if errors.Is(err, upkeep.ErrLost) {
		err = errArchiving
	}
	for _, m := range done {
		out.Partitions = append(out.Partitions, wire.ArchivedPartition{
			Partition: m.Partition, From: m.From, To: m.To, Rows: m.Rows, File: m.File, Bytes: m.Bytes,
			SHA256: m.SHA256,
		})
	}
	out.TookMS = time.Since(started).Milliseconds()
	return out, err
}
