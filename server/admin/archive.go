package admin

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/archive"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// Archive moves old partitions of the ledger to the archive on request.
type Archive struct{ Archiver *archive.Archive }

// Archive archives what is old enough; a dry run lists it.
func (a Archive) Archive(ctx context.Context, dry bool) (*protocol.Archived, error) {
	started := time.Now()
	out := &protocol.Archived{Partitions: []protocol.ArchivedPartition{}, DryRun: dry}
	if dry {
		old, err := a.Archiver.ListOld(ctx)
		for _, p := range old {
			out.Partitions = append(out.Partitions, protocol.ArchivedPartition{
				Partition: p.Name, From: p.From,
				To: p.To,
			})
		}
		out.TookMS = time.Since(started).Milliseconds()
		return out, err
	}
	done, err := a.Archiver.ArchiveOld(ctx)
	for _, m := range done {
		out.Partitions = append(out.Partitions, protocol.ArchivedPartition{
			Partition: m.Partition, From: m.From, To: m.To, Rows: m.Rows, File: m.File, Bytes: m.Bytes,
			SHA256: m.SHA256,
		})
	}
	out.TookMS = time.Since(started).Milliseconds()
	return out, err
}
