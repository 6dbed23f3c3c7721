package migrations_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

// What named users who were erased before the migration is deleted; the rest stays.
func TestErasedBeforeSaltedStandings(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, nil)
	migrations.UpTo(t, url, 55)
	conn := backends.Connect(t, url)
	conn.Do(t, `insert into users (user_id, status) values ('erased-x', 'erased'), ('ada', 'active')`)
	conn.Do(t, `insert into boards (board_id, family_id, mode, standings_hash)
values ('cup1', 'cup1', 'increment', '\x01'), ('cup2', 'cup2', 'increment', '\x02')`)
	conn.Do(t, `insert into board_standings (board_id, rank, user_id, score, order_key, reached_at)
values ('cup1', 1, 'erased-x', 1, -1, now()), ('cup1', 2, 'ada', 1, -1, now()), ('cup2', 1, 'ada', 1, -1, now())`)
	conn.Do(t, `insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied, new_score,
    version, recorded_at, source, action)
select u, 'global', ('00000000-0000-4000-8000-00000000000' || n)::uuid, '\x00', 1, 1, 1, 1, clock_timestamp(), s, a
from (values (1, 'erased-x', 'admin', 'import'), (2, 'erased-x', 'api', 'import'), (3, 'ada', 'admin', 'import'))
    as t(n, u, s, a)`)
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	const hashes = `select count(*) from boards where (board_id, standings_hash) in (('cup1', ''), ('cup2', '\x02'))`
	if n := conn.Count(t, hashes); n != 2 {
		t.Error("the hash over the erased user is kept, or the other one is not")
	}
	if n := conn.Count(t, `select sum(substr(event_id::text, 36)::integer) from user_score_histories
where event_id::text like '00000000-%'`); n != 2+3 {
		t.Errorf("the sum of the ids that are kept is %d, want 5", n)
	}
	// An erasure by a daemon of the version before.
	conn.Do(t, `update board_standings set user_id = 'erased-y' where user_id = 'ada'`)
	if n := conn.Count(t, `select count(*) from boards where standings_hash = ''`); n != 2 {
		t.Errorf("%d hashes of format 1 are deleted, want 2", n)
	}
}
