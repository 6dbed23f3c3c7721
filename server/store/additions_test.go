package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// batches returns how many batches a store has committed of a kind.
func batches(t testing.TB, s *store.Store, kind string) (n float64) {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(s.Increments.Collectors()...)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "scoreboard_ledger_batches_total" && m.GetLabel()[0].GetValue() == kind {
				n = m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// examined is a policy under which every batch is decided, and nothing is rejected.
func examined() *scoreboard.IngestPolicy {
	return &scoreboard.IngestPolicy{Anomalies: scoreboard.Anomalies{
		Frequency: scoreboard.AnomalyLog, MaxEvents: scoreboard.Quota{N: 1000, Per: time.Hour},
	}}
}

// boards draws the boards of an increment; most of them only add.
func boards(t *rapid.T, run int) []scoreboard.BoardID {
	if rapid.IntRange(0, 3).Draw(t, "by rules") == 0 {
		return nil
	}
	names := [][]scoreboard.BoardID{{"sum"}, {"low"}, {"tight"}, {"sum", "low"}, {"low", "tight", "sum"}}
	if rapid.IntRange(0, 60).Draw(t, "odd") == 0 {
		names = [][]scoreboard.BoardID{
			{"best"},
			{"required"},
			{"nowhere"},
			{"best", "sum"},
			{"few"},
			{"few", "sum"},
			{"noted"},
			{"pair"},
			{"pair", "sum"},
		}
	}
	var drawn []scoreboard.BoardID
	for _, name := range rapid.SampledFrom(names).Draw(t, "boards") {
		drawn = append(drawn, scoreboard.BoardID(fmt.Sprint(name, run)))
	}
	return drawn
}

// What both ways must have written, without times and what else differs between two runs.
var writtenByBatches = map[string]string{
	"ledger": `select format('%s %s %s %s %s %s %s %s %s %s %s %s %s %s %s %s %s', metadata,
    (subscore, previous_subscore, new_subscore), user_id, board_id, version,
    event_id, event_text, encode(payload_hash, 'hex'), delta, applied, previous_score, new_score, source, action,
    key_id, signer, client_timestamp) from user_score_histories order by user_id, board_id, version`,
	"outbox": `select format('%s %s %s %s %s %s %s %s %s %s %s %s %s', (subscore, sub_key),
    user_id, board_id, revision, shard, event_type,
    event_id, score, previous_score, delta, order_key, version, trace) from outbox_score_updates
order by user_id, board_id, revision`,
	"order of the outbox": `select format('%s %s %s', user_id, board_id, revision) from (
    select *, lag(revision) over (partition by user_id, board_id order by xid, id) as before
    from outbox_score_updates) as o where before >= revision`,
	"scores": `select format('%s %s %s %s %s %s %s %s %s %s %s', metadata, metadata_version,
    (subscore, sub_key), user_id, board_id,
    score, order_key, version, revision, hidden, empty) from scores order by user_id, board_id`,
	"users": `select format('%s %s', user_id, status) from users order by user_id`,
	"times": `select format('%s %s', s.user_id, s.board_id) from scores as s join user_score_histories as h
    using (user_id, board_id, version) join users as u using (user_id) join boards using (board_id)
where mode = 'increment' and (s.reached_at <> h.recorded_at or s.recorded_at <> h.recorded_at
    or u.last_recorded_at < h.recorded_at)`,
}

func lines(t *testing.T, conn *backends.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever is submitted, additions answer and write what decisions do.
func TestAdditionsRecordWhatDecisionsDo(t *testing.T) {
	t.Parallel()
	adding, added := storetest.New(t)
	deciding, decided := storetest.New(t, withPolicy(examined()))
	run, test := 0, t
	rapid.Check(t, func(t *rapid.T) {
		run++ // with its own boards and users: what was unusual is remembered for a while
		both := func(sql string, args ...any) {
			added.Do(test, sql, args...)
			decided.Do(test, sql, args...)
		}
		both(`insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, min_score, max_score,
    require_attestation, attempts, metadata, subscore, min_subscore, max_subscore)
select name || $1, name || $1, mode, sort_order, -least, least, -most, most, name = 'required',
    case name when 'few' then 3 else 0 end, case name when 'noted' then 'public' end,
    case name when 'pair' then 'lowest' end, case name when 'pair' then -9 end, case name when 'pair' then 9 end
from (values
    ('sum', 'increment', 'highest', 100, 9007199254740991), ('low', 'increment', 'lowest', 100, 9007199254740991),
    ('tight', 'increment', 'highest', 5, 7), ('best', 'best', 'highest', 100, 100),
    ('required', 'increment', 'highest', 100, 100), ('few', 'increment', 'highest', 100, 100),
    ('noted', 'increment', 'highest', 100, 100), ('pair', 'increment', 'highest', 100, 100)) 
    as t(name, mode, sort_order, least, most)`, fmt.Sprint(run))
		// What names no board also counts on others, by rules that come and go.
		ruleBoards := func() {
			both(`with gone as (delete from board_rules), changed as (
    update boards set rules_version = rules_version + 1, min_delta = -100, max_delta = 100 where board_id = 'global')
insert into board_rules (board_id, actions, regions, attributes) select name || $1, '{win}', regions, '{}'
from (values ('sum', '{}'::text[]), ('low', '{eu}'), ('pair', '{us}')) as t(name, regions)
on conflict (board_id) do nothing`, fmt.Sprint(run))
		}
		ruleBoards()
		now := time.Now().UTC().Truncate(time.Second)
		user := func() scoreboard.UserID {
			name := rapid.SampledFrom([]string{"a", "B", "ab", "ä"}).Draw(t, "user")
			return scoreboard.UserID(fmt.Sprintf("%s-%d", name, run))
		}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			switch rapid.IntRange(0, 11).Draw(t, "kind") {
			case 0:
				id, status := user(), rapid.SampledFrom([]string{"active", "frozen", "banned"}).Draw(t, "status")
				both(`update users set status = $2 where user_id = $1`, id, status)
				both(`update scores set hidden = $2 where user_id = $1`, id, status == "banned")
			case 1:
				both(`update boards set status = $2 where board_id = $1`, fmt.Sprint("low", run),
					rapid.SampledFrom([]string{"active", "frozen"}).Draw(t, "board's status"))
			case 2:
				both(`update scores set empty = true where user_id = $1`, user())
			case 3:
				ruleBoards()
			}
			batch := make([]scoreboard.Increment, rapid.IntRange(1, 9).Draw(t, "batch"))
			for i := range batch {
				id, delta := user(), rapid.Int64Range(-5, 6).Draw(t, "delta")
				if delta == 0 && rapid.IntRange(0, 9).Draw(t, "zero") > 0 {
					delta = 3
				}
				batch[i] = increment(id, delta, fmt.Sprint("e", rapid.IntRange(0, 12).Draw(t, "event")),
					boards(t, run)...)
				batch[i].Client, batch[i].Action = now, rapid.SampledFrom([]string{"", "", "win"}).Draw(t, "action")
				if batch[i].Boards[0] == scoreboard.GlobalBoard {
					batch[i].ByRules = true
					if rapid.Bool().Draw(t, "in the region") {
						batch[i].Attributes = scoreboard.Attributes{{
							Name: "region", Value: rapid.SampledFrom([]string{"eu", "eu", "us"}).Draw(t, "region"),
						}}
					}
				}
				switch rapid.IntRange(0, 100).Draw(t, "more than a delta") { // small ones are drawn often
				case 50:
					batch[i].Metadata = `{"car":"roadster"}`
				case 49:
					batch[i].Subscore = new(scoreboard.Score(batch[i].Delta))
				case 51:
					batch[i].IfPeriod = batch[i].Boards[0] + ":2026-w47"
				}
				batch[i].Signer = rapid.SampledFrom([]string{"", "server"}).Draw(t, "signer")
				if rapid.Bool().Draw(t, "accepted before") {
					batch[i].Accepted, batch[i].Source = now, scoreboard.SourceAsync
				}
			}
			got, err := adding.Increments.Record(test.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			want, err := deciding.Increments.Record(test.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			for i := range batch {
				if g, w := outcomeText(got[i]), outcomeText(want[i]); g != w {
					t.Fatalf("item %d, %+v:\nadded   %s\ndecided %s", i, batch[i], g, w)
				}
			}
		}
	})
	for what, sql := range writtenByBatches {
		got, want := lines(t, added, sql), lines(t, decided, sql)
		if len(got) != len(want) || what == "times" && len(got) > 0 {
			t.Fatalf("%s: %d lines, want %d", what, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s:\nadded   %s\ndecided %s", what, got[i], want[i])
			}
		}
	}
	t.Logf("%v batches added, %v decided", batches(t, adding, "added"), batches(t, adding, "decided"))
	if batches(t, adding, "added") < 100 || batches(t, adding, "decided") < 20 || batches(t, deciding, "added") > 0 {
		t.Error("both ways must have been taken")
	}
}

// outcomeText is an outcome without its times.
func outcomeText(o scoreboard.Outcome) string {
	text := ""
	if o.Err != nil {
		text = o.Err.Error()
	}
	for _, r := range o.Receipts {
		previous := "none"
		if r.Previous != nil {
			previous = fmt.Sprint(*r.Previous)
		}
		if r.PreviousSubscore != nil {
			previous += fmt.Sprint("/", *r.PreviousSubscore)
		}
		text += fmt.Sprintf(" [%d %s %s %s %d %s %d %d %t %t %t]", r.NewSubscore, r.User, r.Board,
			r.Event.Text, r.NewScore, previous,
			r.Applied, r.Version, r.Replayed, r.Reversed, r.RecordedAt.IsZero())
	}
	return text
}
