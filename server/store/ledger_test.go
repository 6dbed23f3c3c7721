package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

type (
	eventOf struct {
		user  scoreboard.UserID
		event [16]byte
	}
	placeOf struct {
		user  scoreboard.UserID
		board scoreboard.BoardID
	}
	ledgerRow struct {
		placeOf
		event             [16]byte
		hash              [16]byte
		delta, applied    int64
		previous          *scoreboard.Score
		score             scoreboard.Score
		subscore          *scoreboard.Score // that was submitted
		previousSub, sub  *scoreboard.Score // before and after
		subKey            int64
		version           int64
		recorded, reached time.Time
		revision          int64
	}
)

// ledger is everything that the database stores about some users.
type ledger struct {
	events map[eventOf][]ledgerRow
	places map[placeOf][]ledgerRow // by version
	scores map[placeOf]ledgerRow
	outbox map[placeOf][]ledgerRow // by revision
	users  []scoreboard.UserID
}

func readLedger(t testing.TB, conn *backends.Conn, like string) *ledger {
	t.Helper()
	l := &ledger{
		events: make(map[eventOf][]ledgerRow), places: make(map[placeOf][]ledgerRow),
		scores: make(map[placeOf]ledgerRow), outbox: make(map[placeOf][]ledgerRow),
	}
	read := func(sql string, to []any, do func() error) {
		rows, err := conn.Query(t.Context(), sql, like)
		if err == nil {
			_, err = pgx.ForEachRow(rows, to, do)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var r ledgerRow
	var hash []byte
	read(
		`select user_id, board_id, event_id, payload_hash, delta, applied, previous_score, new_score, version,
recorded_at, subscore, previous_subscore, new_subscore
from user_score_histories where user_id like $1 order by user_id, board_id, version`,
		[]any{
			&r.user,
			&r.board,
			&r.event,
			&hash,
			&r.delta,
			&r.applied,
			&r.previous,
			&r.score,
			&r.version,
			&r.recorded,
			&r.subscore, &r.previousSub, &r.sub,
		},
		func() error {
			r.hash = [16]byte(hash)
			key := eventOf{r.user, r.event}
			l.events[key] = append(l.events[key], r)
			l.places[r.placeOf] = append(l.places[r.placeOf], r)
			return nil
		},
	)
	r = ledgerRow{}
	read(
		`select user_id, board_id, score, version, revision, reached_at, recorded_at, subscore, sub_key from scores
where user_id like $1`,
		[]any{&r.user, &r.board, &r.score, &r.version, &r.revision, &r.reached, &r.recorded, &r.sub, &r.subKey},
		func() error {
			l.scores[r.placeOf] = r
			return nil
		},
	)
	r = ledgerRow{}
	read(
		`select user_id, board_id, event_id, previous_score, score, delta, version, revision, reached_at, recorded_at,
    coalesce(subscore, 0), coalesce(sub_key, 0)
from outbox_score_updates where user_id like $1 order by user_id, board_id, revision`,
		[]any{
			&r.user,
			&r.board,
			&r.event,
			&r.previous,
			&r.score,
			&r.applied,
			&r.version,
			&r.revision,
			&r.reached,
			&r.recorded,
			&r.sub, &r.subKey,
		},
		func() error {
			l.outbox[r.placeOf] = append(l.outbox[r.placeOf], r)
			return nil
		},
	)
	var user scoreboard.UserID
	read(`select user_id from users where user_id like $1`, []any{&user}, func() error {
		l.users = append(l.users, user)
		return nil
	})
	return l
}

// matches reports whether a receipt equals the row.
func (r ledgerRow) matches(got scoreboard.Receipt) bool {
	return got.User == r.user && got.Board == r.board && got.NewScore == r.score && got.Applied == r.applied &&
		samePrevious(got.Previous, r.previous) && samePrevious(got.PreviousSubscore, r.previousSub) &&
		got.NewSubscore == orZero(r.sub) && got.Version == r.version && got.RecordedAt.Equal(r.recorded)
}

func orZero(s *scoreboard.Score) scoreboard.Score {
	if s == nil {
		return 0
	}
	return *s
}

func samePrevious(a, b *scoreboard.Score) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// check checks that the ledger is consistent.
func (l *ledger) check(t *rapid.T) {
	active := make(map[scoreboard.UserID]bool)
	for place, rows := range l.places {
		active[place.user] = true
		var before *ledgerRow
		changes := l.outbox[place]
		for i, r := range rows {
			if r.version != int64(i+1) {
				t.Fatalf("%v: version %d at position %d", place, r.version, i+1)
			}
			l.checkRow(t, before, r)
			if before == nil || r.score != before.score || orZero(r.sub) != orZero(before.sub) {
				if len(changes) == 0 {
					t.Fatalf("%v: no outbox row for version %d", place, r.version)
				}
				c := changes[0]
				changes = changes[1:]
				if c.version != r.version || c.event != r.event || c.score != r.score || c.applied != r.applied ||
					orZero(c.sub) != orZero(r.sub) || c.subKey != subKeyOf(r) ||
					!samePrevious(
						c.previous,
						r.previous,
					) || !c.recorded.Equal(r.recorded) || !c.reached.Equal(r.recorded) {
					t.Fatalf("%v: the outbox has %+v for %+v", place, c, r)
				}
			}
			before = &r
		}
		if len(changes) > 0 {
			t.Fatalf("%v: the outbox has %d extra rows", place, len(changes))
		}
		for i, c := range l.outbox[place] {
			if c.revision != int64(i+1) {
				t.Fatalf("%v: revision %d at position %d", place, c.revision, i+1)
			}
		}
		s, last := l.scores[place], l.outbox[place][len(l.outbox[place])-1]
		if s.score != before.score || orZero(s.sub) != orZero(before.sub) || s.subKey != subKeyOf(*before) ||
			s.version != before.version || !s.recorded.Equal(before.recorded) ||
			s.revision != last.revision || !s.reached.Equal(last.reached) {
			t.Fatalf("%v: the score row is %+v, the last ledger row %+v, the last change %+v", place, s, before, last)
		}
	}
	if len(l.scores) != len(l.places) || len(l.outbox) != len(l.places) {
		t.Fatalf("%d scores, %d in the outbox and %d in the ledger", len(l.scores), len(l.outbox), len(l.places))
	}
	for event, rows := range l.events {
		boards := make(map[scoreboard.BoardID]bool)
		for _, r := range rows {
			if boards[r.board] || r.hash != rows[0].hash || r.delta != rows[0].delta {
				t.Fatalf("event %x of %s was recorded more than once: %+v", event.event, event.user, rows)
			}
			boards[r.board] = true
		}
	}
	for _, user := range l.users {
		if !active[user] {
			t.Fatalf("user %s has a row but no events", user)
		}
	}
}

// subKeyOf is the key of the subscore after a row.
func subKeyOf(r ledgerRow) int64 {
	if order := propertySubscores[r.board]; order != "" {
		return order.Key(orZero(r.sub))
	}
	return 0
}

// checkRow checks a row against its mode and the previous row.
func (l *ledger) checkRow(t *rapid.T, before *ledgerRow, r ledgerRow) {
	var old, oldSub scoreboard.Score
	if before != nil {
		old, oldSub = before.score, orZero(before.sub)
		if r.recorded.Before(before.recorded) {
			t.Fatalf("%v: version %d has an earlier time than the previous version", r.placeOf, r.version)
		}
	}
	mode, want, wantSub := propertyModes[r.board], scoreboard.Score(r.delta), orZero(r.subscore)
	pairs := propertySubscores[r.board] != ""
	switch {
	case mode == scoreboard.ModeIncrement:
		want, wantSub = want+old, wantSub+oldSub
	case mode == scoreboard.ModeBest && before != nil && (r.board == "low") == (want > old) && want != old:
		want, wantSub = old, oldSub
	case mode == scoreboard.ModeBest && before != nil && want == old: // the lowest subscore of the duel is the best
		wantSub = min(wantSub, oldSub)
	}
	if pairs != (r.sub != nil) || orZero(r.sub) != wantSub || pairs != (r.subscore != nil) {
		t.Fatalf("%v: got %+v after %+v, want subscore %d", r.placeOf, r, before, wantSub)
	}
	if (r.previousSub != nil) != (pairs && r.previous != nil) || orZero(r.previousSub) != oldSub {
		t.Fatalf("%v: got %+v after %+v, want the previous subscore %d", r.placeOf, r, before, oldSub)
	}
	first := mode == scoreboard.ModeIncrement || before != nil
	if r.score != want || r.applied != int64(want-old) || (r.previous != nil) != first || first && *r.previous != old {
		t.Fatalf("%v: got %+v after %+v, want score %d", r.placeOf, r, before, want)
	}
}
