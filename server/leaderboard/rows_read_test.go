package leaderboard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// someHidden shows users whose name begins with "private" as private.
type someHidden struct{ allPrivate }

func (someHidden) Visibility(user scoreboard.UserID) scoreboard.Visibility {
	if strings.HasPrefix(string(user), "private") {
		return scoreboard.VisibilityPrivate
	}
	return scoreboard.VisibilityPublic
}

// While the ranking answers, what anyone asks about any user reads a few rows of PostgreSQL,
// however large the board is: of a private, banned or late user, or of nobody. Ranks, totals and
// neighbours are those of the store.
func TestReadsOfEveryCallerReadFewRows(t *testing.T) {
	t.Parallel()
	const users, rounds = 12_000, 100
	url := backends.Postgres(t, migrations.Up)
	conn := backends.Connect(t, url)
	fill := storetest.Open(t, url)
	conn.Do(t, `insert into users (user_id) select 'u' || lpad(i::text, 5, '0') from generate_series(1, $1) i`, users)
	conn.Do(t, `insert into scores (user_id, board_id, score, order_key, reached_at, recorded_at, version, revision)
select 'u' || lpad(i::text, 5, '0'), 'global', i / 4, -(i / 4), 
    now() - interval '1 hour' + i * interval '1 ms', now(), 1, 1
from generate_series(1, $1) i`, users)
	for _, u := range [][2]string{
		{"private-mid", "u06000"}, {"private-last", "u00001"}, {"private-first", "u12000"},
	} {
		conn.Do(t, `insert into users (user_id, private) values ($1, true)`, u[0])
		conn.Do(t, `insert into scores (user_id, board_id, score, order_key, reached_at, recorded_at,
    version, revision, hidden)
select $1, board_id, score, order_key, reached_at, now(), 1, 1, true from scores where user_id = $2`, u[0], u[1])
	}
	conn.Do(t, `insert into users (user_id, status) values ('banned', 'banned')`)
	conn.Do(t, `insert into scores (user_id, board_id, score, order_key, reached_at, recorded_at,
    version, revision, hidden)
values ('banned', 'global', 5, -5, now(), now(), 1, 1, true)`)
	conn.Do(t, `insert into standings (user_id, board_id, order_key, reached_at, recorded_at, revision, hidden)
select user_id, board_id, order_key, reached_at, recorded_at, revision, hidden from scores`)
	storetest.UpdateStandings(t, fill)

	s := storetest.Open(t, url, func(o *store.Options) { o.MaxConns = 2 })
	quiet := slog.New(slog.DiscardHandler)
	catalog, rank := store.NewCatalog(s.Boards, quiet), ranking.New(backends.RedisClient(t, backends.OwnRedis(t).URL))
	rebuilder := repair.NewRebuilder(catalog, fill.Recovery, rank, upkeep.NewRunner("test", fill.Leases, quiet), quiet)
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rebuilder.Run(running) }()
	l := leaderboard.New(leaderboard.Options{
		Catalog: catalog, Ranking: rank, Fallback: s.Reads, TriggerRebuild: rebuilder.Trigger,
		Display: someHidden{}, Log: quiet,
	})
	board, err := catalog.Board(t.Context(), "global")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if top, err := rank.Top(t.Context(), board); err == nil && len(top.Entries) > 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the ranking is not built: %v", err)
		}
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	want := map[scoreboard.UserID]*scoreboard.Place{}
	for _, user := range []scoreboard.UserID{"private-mid", "private-last", "private-first"} {
		if want[user], err = fill.Reads.Place(t.Context(), board, user, 3); err != nil {
			t.Fatal(err)
		}
	}
	fill.Close()
	before := rowsOf(t, conn, s)
	s = storetest.Open(t, url, func(o *store.Options) { o.MaxConns = 2 })
	l.Fallback = s.Reads
	l = leaderboard.New(l.Options)
	requests := int64(0)
	for range rounds {
		for user, stored := range want {
			requests++
			p, err := l.Place(t.Context(), board, user, 3, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := placeText(p), placeText(stored); got != want {
				t.Errorf("%s has %s, want %s", user, got, want)
			}
		}
		for _, user := range []scoreboard.UserID{"banned", scoreboard.UserID(fmt.Sprint("nobody-", requests))} {
			requests++
			if _, err := l.Place(t.Context(), board, user, 0, 0); wire.CodeOf(err) != wire.CodeNotFound {
				t.Errorf("%s: %v, want not_found", user, err)
			}
		}
		requests += 3
		if list, err := l.List(t.Context(), board, []scoreboard.UserID{
			"private-mid", "u00010", "banned", scoreboard.UserID(fmt.Sprint("absent-", requests)),
		}); err != nil || len(list.Entries) != 2 || len(list.Missing) != 2 {
			t.Errorf("got %+v, %v", list, err)
		}
		if p, err := l.Place(t.Context(), board, "private-mid", 0, 1); err != nil ||
			p.Rank != want["private-mid"].Rank {
			t.Errorf("with a version: got %+v, %v", p, err)
		}
	}
	after := rowsOf(t, conn, s)
	// One scan of the standings for all of them would be too much; the rows of a user are few.
	limits := map[string]int64{"standings": users / 2, "scores": 40 * requests, "users": 40 * requests}
	for table, limit := range limits {
		if n := after[table] - before[table]; n > limit {
			t.Errorf("%d requests read %d rows of %s, want at most %d", requests, n, table, limit)
		}
	}
}

// rowsOf closes a store and returns how many rows of each table were read.
func rowsOf(t *testing.T, conn *backends.Conn, s *store.Store) map[string]int64 {
	t.Helper()
	s.Close()
	rows := map[string]int64{}
	for table, r := range storetest.TableReads(t, conn) {
		rows[table] = r.Scanned + r.Indexed
	}
	return rows
}

func placeText(p *scoreboard.Place) string {
	text := fmt.Sprintf("rank %d of %d, score %d, private %t:", p.Rank, p.Total, p.Score, p.Private)
	for _, e := range p.Neighbours {
		text += fmt.Sprintf(" %d %s %d", e.Rank, e.User, e.Score)
	}
	return text
}
