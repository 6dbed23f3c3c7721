package store

import (
	"context"

	"github.com/scoreboard/scoreboard/server/store/internal/pg"
	"github.com/scoreboard/scoreboard/server/store/moments"
	"github.com/scoreboard/scoreboard/server/store/reads"
)

// Replica is a streaming replica of PostgreSQL, which only reads.
type Replica struct {
	Reads   *reads.Reads
	Moments *moments.Moments

	db *pg.DB
}

// OpenReplica does not connect, as Open.
func OpenReplica(ctx context.Context, o Options) (*Replica, error) {
	db, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Replica{Reads: reads.NewReplica(db), Moments: moments.NewReplica(db), db: db}, nil
}

// Close waits for connections in use and closes all.
func (r *Replica) Close() { r.db.Close() }
