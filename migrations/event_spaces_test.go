package migrations_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

func TestMain(m *testing.M) { backends.Main(m) }

// badIndexes counts the leaves of the ledger without a valid unique index over the space
// of an event, and the indexes that are left over.
const badIndexes = `select
    (select count(*) from pg_inherits as l where l.inhparent = 'user_score_histories'::regclass
        and not exists (select from pg_index as i where i.indrelid = l.inhrelid and i.indisunique and i.indisvalid
            and pg_get_indexdef(i.indexrelid) like
                '%_event ON % USING btree (user_id, event_id, board_id, ((source = %'))
    + (select count(*) from pg_class where relname like 'user_score_histories%\_event\_%')`

// A database with corrections of an earlier build: their rows move into the space of
// internal events without a change, and an earlier build that still runs can reverse
// events.
func TestEventSpaces(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, nil)
	migrations.UpTo(t, url, 22)
	conn := backends.Connect(t, url)
	const insert = `insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied,
    new_score, version, recorded_at, source, action) values ('ada', 'global', $1, '\x00', 1, 1, 1, $2,
    clock_timestamp(), $3, $4)`
	const event, reversal = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	const adjustment, other = "00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000004"
	const late = "00000000-0000-4000-8000-000000000005"
	conn.Do(t, insert, event, 1, "api", nil)
	conn.Do(t, insert, reversal, 2, "admin", "reversal:"+event)
	conn.Do(t, insert, adjustment, 3, "admin", "adjust")
	conn.Do(t, insert, other, 4, "admin", "reversal:"+adjustment)
	conn.Do(t, insert, late, 5, "async", nil)
	const reverse = `insert into reversals (user_id, event_id, reversal_id) values ('ada', $1, $2)`
	conn.Do(t, reverse, event, reversal)
	conn.Do(t, reverse, adjustment, other)
	if _, err := conn.Exec(t.Context(), insert, event, 6, "admin", "adjust"); err == nil {
		t.Fatal("an earlier build could have two events with one id: the test is vacuous")
	}

	migrations.UpTo(t, url, 24)
	if n := conn.Count(t, badIndexes); n != 0 {
		t.Errorf("%d indexes are missing or left over", n)
	}
	internal := func(id string) (n int64) {
		t.Helper()
		return conn.Count(t, `select internal::int from reversals where event_id = $1`, id)
	}
	if internal(event) != 0 || internal(adjustment) != 1 {
		t.Errorf("internal: event %d, adjustment %d; want 0 and 1", internal(event), internal(adjustment))
	}
	conn.Do(t, reverse, late, other) // as an earlier build does
	if internal(late) != 0 {
		t.Error("the reversal of a client's event by an earlier build has the wrong space")
	}
	conn.Do(t, insert, late, 6, "admin", "adjust") // the same id in both spaces
	conn.Do(t, insert, reversal, 7, "api", nil)
	for _, source := range []string{"api", "batch", "async"} {
		if _, err := conn.Exec(t.Context(), insert, event, 8, source, nil); err == nil {
			t.Errorf("a client's event is there twice, from %s", source)
		}
	}
	if _, err := conn.Exec(t.Context(), insert, adjustment, 8, "admin", "adjust"); err == nil {
		t.Error("an adjustment is there twice")
	}
	conn.Do(t, `select create_ledger_partition('2030-01-01Z', '2030-02-01Z')`)
	if n := conn.Count(t, badIndexes); n != 0 {
		t.Errorf("%d indexes of new partitions are wrong", n)
	}
}

// An interrupted run of the migration is continued, whichever step it got to.
func TestEventIndexIsContinued(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"built":   `create unique index %s_event_new on %s (user_id, event_id, board_id, (source = 'admin'))`,
		"partial": `create index %s_event_new on %s (user_id)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := backends.Postgres(t, nil)
			migrations.UpTo(t, url, 23)
			conn := backends.Connect(t, url)
			conn.Do(t, `do $$ declare leaf text; begin
    select inhrelid::regclass::text into leaf from pg_inherits
        where inhparent = 'user_score_histories'::regclass order by 1 limit 1;
    execute replace($s$`+statement+`$s$, '%s', leaf);
end $$`)
			migrations.UpTo(t, url, 24)
			if n := conn.Count(t, badIndexes); n != 0 {
				t.Errorf("%d indexes are missing or left over", n)
			}
		})
	}
	t.Run("renamed", func(t *testing.T) {
		t.Parallel()
		url := backends.Postgres(t, nil)
		migrations.UpTo(t, url, 24)
		conn := backends.Connect(t, url)
		conn.Do(t, `do $$ declare leaf text; begin
    for leaf in select inhrelid::regclass::text from pg_inherits
        where inhparent = 'user_score_histories'::regclass loop
        execute format('create unique index %I on %I (user_id, event_id, board_id)', leaf || '_event_old', leaf);
    end loop;
    delete from goose_db_version where version_id = 24;
end $$`)
		migrations.UpTo(t, url, 24)
		if n := conn.Count(t, badIndexes); n != 0 {
			t.Errorf("%d indexes are missing or left over", n)
		}
	})
}
