package store

import (
	"context"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/history"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
	"github.com/scoreboard/scoreboard/server/store/reads"
)

// Replica is a streaming replica of PostgreSQL, which is only read. Its host name may lead to
// several servers, and each may be promoted at any time, so nothing is read without a check of
// the very snapshot that it comes from.
type Replica struct {
	reads      *reads.Reads
	pastBoards *history.PastBoards
	db         *pg.DB
}

// OpenReplica does not connect, as Open.
func OpenReplica(ctx context.Context, o Options) (*Replica, error) {
	db, err := open(ctx, o, false)
	if err != nil {
		return nil, err
	}
	return &Replica{reads: reads.New(db), pastBoards: history.New(db), db: db}, nil
}

// Progress returns how far the replica has come.
func (r *Replica) Progress(ctx context.Context) (scoreboard.Progress, error) {
	return r.reads.Progress(ctx)
}

// Reads returns reads of standings and statements that pass a check.
func (r *Replica) Reads(check scoreboard.ProgressCheck) *reads.Reads { return r.reads.Replica(check) }

// PastBoards returns reads of past standings that pass a check.
func (r *Replica) PastBoards(check scoreboard.ProgressCheck) *history.PastBoards {
	return r.pastBoards.Replica(check)
}

// Close waits for connections in use and closes all.
func (r *Replica) Close() { r.db.Close() }
