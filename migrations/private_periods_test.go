package migrations_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

// Periods of an earlier build are merged: short public phases, and the oldest beyond the bound. A
// user who is private now stays it, and nobody counts as public who was private.
func TestPrivatePeriodsAreMerged(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, nil)
	migrations.UpTo(t, url, 55)
	conn := backends.Connect(t, url)
	conn.Do(t, `insert into users (user_id) values ('long'), ('short'), ('both'), ('few')`)
	conn.Do(t, `insert into private_users (user_id, since, until)
select 'long', at, at + interval '2 minutes'
from generate_series('2026-01-01Z'::timestamptz, '2026-01-03Z', '5 minutes') as at
union all select 'short', at, at + interval '5 seconds'
from generate_series('2026-01-01Z'::timestamptz, '2026-01-01T01:00:00Z', '10 seconds') as at
union all select 'both', at, at + interval '5 seconds'
from generate_series('2026-01-01Z'::timestamptz, '2026-01-01T01:00:00Z', '10 seconds') as at
union all values ('few', '2026-01-01Z'::timestamptz, '2026-01-01T01:00:00Z'::timestamptz),
    ('few', '2026-01-02Z', null)`)
	conn.Do(t, `update private_users set until = null where user_id = 'both' and since = '2026-01-01T01:00:00Z'`)
	conn.Do(t, `create table before as select * from private_users`)

	migrations.UpTo(t, url, 59)
	for user, want := range map[string]int64{"long": 64, "short": 1, "both": 1, "few": 2} {
		if n := conn.Count(t, `select count(*) from private_users where user_id = $1`, user); n != want {
			t.Errorf("%s has %d periods, want %d", user, n, want)
		}
	}
	if n := conn.Count(t, `select count(*) from before as b where not exists (select from private_users as p
where p.user_id = b.user_id and p.since <= b.since and coalesce(p.until, 'infinity') >= coalesce(b.until, 'infinity'))`,
	); n != 0 {
		t.Errorf("%d private periods count as public", n)
	}
	if n := conn.Count(t, `select count(*) from private_users where until is null`); n != 2 {
		t.Errorf("%d users are private now, want 2", n)
	}
	// The newest phases stay as they were.
	if n := conn.Count(t, `select count(*) from private_users as p join before as b using (user_id, since, until)
where user_id = 'long'`); n != 63 {
		t.Errorf("%d periods are as before, want the newest 63", n)
	}
}
