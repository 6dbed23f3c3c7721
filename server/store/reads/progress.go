package reads

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// sqlProgress takes the time from the standings: the primary writes it each second, after
// everything committed before it, and replicas apply commits in their order. The position
// of a replica in the log would not tell the age of an idle database.
const sqlProgress = `select as_of, coalesce(cluster, '') || ' ' || coalesce((
    select string_agg(distinct history, ' ' order by history) from relay_shards), '')
    || ' ' || coalesce((select max(since)::text from adopted_histories), ''), pg_is_in_recovery()
from standings_state`

// Progress returns how far the database has come. Everything that was committed before its
// time is in it; of a database without the role maintenance the time does not advance.
func (r *Reads) Progress(ctx context.Context) (scoreboard.Progress, error) {
	p, err := progress(ctx, r.db)
	if err != nil {
		return p, pg.Translate(fmt.Errorf("read how far the database has come: %w", err))
	}
	return p, nil
}

func progress(ctx context.Context, db pg.Querier) (p scoreboard.Progress, err error) {
	var asOf *time.Time
	if err := db.QueryRow(ctx, sqlProgress).Scan(&asOf, &p.ID, &p.Replica); err != nil {
		return p, err
	}
	if asOf != nil {
		p.AsOf = asOf.UTC()
	}
	return p, nil
}
