package migrations_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
)

// The migrations that move the ranking index run while daemons of the version before
// write. What these write at any time is in the standings after the first pass of the
// updater, however often the migration was interrupted.
func TestStandingsAreFilledWhileDaemonsWrite(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, nil)
	migrations.UpTo(t, url, 29)
	conn := backends.Connect(t, url)
	conn.Do(t, `insert into scores (user_id, board_id, score, order_key, version, revision, reached_at,
    recorded_at, hidden)
select 'u' || i, 'global', i, -i, 1, 1, clock_timestamp(), clock_timestamp(), i % 50 = 0
from generate_series(1, 5000) i`)
	const change = `with c as (
    insert into scores as s (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
    values ('u' || $1::int, 'global', 1, -1, 1, 1, clock_timestamp(), clock_timestamp())
    on conflict (user_id, board_id) do update set score = s.score + 1, order_key = -s.score - 1,
        version = s.version + 1, revision = s.revision + 1, reached_at = clock_timestamp()
    returning *)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, delta, order_key, version, revision,
    reached_at, recorded_at, hidden)
select 0, gen_random_uuid(), user_id, board_id, score, 1, order_key, version, revision, reached_at, recorded_at, hidden
from c`
	ctx, stop := context.WithCancel(t.Context())
	var changes atomic.Int64
	writers := make(chan error)
	for range 2 {
		daemon := backends.Connect(t, url)
		go func() {
			for ctx.Err() == nil {
				// Two changes in one transaction: its id is older than the second one.
				for _, sql := range []string{`begin`, change, `select pg_sleep(0.002)`, change, `commit`} {
					var args []any
					if sql == change {
						args = []any{1 + rand.IntN(6000)}
					}
					if _, err := daemon.Exec(context.WithoutCancel(ctx), sql, args...); err != nil {
						writers <- err
						return
					}
				}
				changes.Add(2)
			}
			writers <- nil
		}()
	}
	migrations.UpTo(t, url, 31)
	conn.Do(t, `delete from goose_db_version where version_id = 31`) // as if interrupted before the end
	before := changes.Load()
	if err := migrations.Up(ctx, url); err != nil {
		t.Error(err)
	}
	during := changes.Load() - before
	stop()
	for range 2 {
		if err := <-writers; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	behind := conn.Count(t, `select count(*) from standings as s join scores as c using (board_id, user_id)
where s.revision < c.revision`)
	s := storetest.Open(t, url)
	if _, more, err := s.Standings.Update(t.Context()); err != nil || more {
		t.Errorf("the first pass: more %t, %v; want that nothing has to be filled", more, err)
	}
	storetest.UpdateStandings(t, s)
	if n := conn.Count(t, `select count(*) from scores as c full join standings as s using (board_id, user_id)
where (c.order_key, c.reached_at, c.hidden, c.revision)
    is distinct from (s.order_key, s.reached_at, s.hidden, s.revision)`); n != 0 {
		t.Errorf("%d standings differ from the scores", n)
	}
	if behind == 0 || during == 0 {
		t.Errorf("%d changes during the migration, %d standings behind after it: the test is vacuous", during, behind)
	}
	t.Logf("%d changes during the migration, %d standings behind after it", during, behind)
	if n := conn.Count(t, `select count(*) from pg_indexes where indexname = 'scores_ranking'`); n != 0 {
		t.Error("the ranking index of scores is still there")
	}
}
