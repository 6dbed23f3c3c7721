package pg

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// sqlProgress takes the time from the standings: the primary writes it each second, after
// everything committed before it, and replicas apply commits in their order. The position
// of a replica in the log would not tell the age of an idle database.
const sqlProgress = `select as_of, coalesce(cluster, '') || ' ' || coalesce((
    select string_agg(distinct history, ' ' order by history) from relay_shards), '')
    || ' ' || coalesce((select max(since)::text from adopted_histories), ''), pg_is_in_recovery()
from standings_state`

// ReadProgress returns how far the database has come, or what a snapshot sees of it: one that a
// server in recovery has taken has nothing that the server wrote itself after a promotion.
func ReadProgress(ctx context.Context, db Querier) (p scoreboard.Progress, err error) {
	var asOf *time.Time
	if err := db.QueryRow(ctx, sqlProgress).Scan(&asOf, &p.ID, &p.Replica); err != nil {
		return p, err
	}
	if asOf != nil {
		p.AsOf = asOf.UTC()
	}
	return p, nil
}

// CheckProgress is ReadProgress for a check, which a nil one passes without a read.
func CheckProgress(ctx context.Context, db Querier, check scoreboard.ProgressCheck) (p scoreboard.Progress, err error) {
	if check == nil {
		return p, nil
	}
	if p, err = ReadProgress(ctx, db); err == nil {
		err = check(p)
	}
	return p, err
}
