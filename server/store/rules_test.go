package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// withPolicy makes a store apply a policy.
func withPolicy(policy *scoreboard.IngestPolicy) func(*store.Options) {
	policy.MinDelta, policy.MaxDelta = -scoreboard.MaxScore, scoreboard.MaxScore
	return func(o *store.Options) {
		o.LockWait = 5 * time.Second
		o.Policy = func() *scoreboard.IngestPolicy { return policy }
	}
}

func action(user scoreboard.UserID, delta int64, event, action string) scoreboard.Increment {
	in := increment(user, delta, event)
	in.Action = action
	return in
}

// Two concurrent nodes: the rule counts exactly the recorded events.
func TestRulesHoldAcrossConcurrentNodes(t *testing.T) {
	t.Parallel()
	rules, err := scoreboard.ParseRules([]string{"chop:1:9;max=5/1h", "find:1:9;once=1h", "rest:1:9;cooldown=1h"})
	if err != nil {
		t.Fatal(err)
	}
	policy := &scoreboard.IngestPolicy{Rules: rules}
	one, conn := storetest.New(t, withPolicy(policy))
	two := storetest.Open(t, conn.URL, withPolicy(policy))
	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]map[wire.Code]int{"chop": {}, "find": {}, "rest": {}}
	for i := range 12 {
		s := []*store.Store{one, two}[i%2]
		all.Go(func() {
			for _, name := range []string{"chop", "find", "rest"} {
				// A batch of two, submitted twice.
				batch := []scoreboard.Increment{
					action("alice", 1, fmt.Sprint(name, i), name),
					action("alice", 1, fmt.Sprint(name, i, "b"), name),
				}
				for range 2 {
					out, err := s.Increments.Record(t.Context(), batch)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, o := range out {
						if o.Err != nil || !o.Receipts[0].Replayed {
							codes[name][wire.CodeOf(o.Err)]++
						}
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	for name, want := range map[string]int64{"chop": 5, "find": 1, "rest": 1} {
		if n := conn.Count(
			t,
			`select count(*) from user_score_histories where action = $1`,
			name,
		); n != want || codes[name][""] != int(want) || len(codes[name]) != 2 ||
			codes[name][wire.CodeRuleViolated] == 0 {
			t.Errorf("%s: %d recorded, want %d; outcomes %v", name, n, want, codes[name])
		}
	}
	// A known event gets its receipt whatever the rules have become.
	policy.Rules = scoreboard.Rules{scoreboard.AnyAction: {Disabled: true, MaxDelta: 9}}
	id := ""
	if err := conn.QueryRow(t.Context(), `select event_text from user_score_histories where action = 'rest'`).
		Scan(&id); err != nil {
		t.Fatal(err)
	}
	out := record(t, one, action("alice", 1, id, "rest"), action("alice", 1, "another", "rest"))
	if out[0].Err != nil || !out[0].Receipts[0].Replayed ||
		wire.CodeOf(out[1].Err) != wire.CodeRuleViolated {
		t.Errorf("a repeat and a new event: %+v", out)
	}
}

func TestAnomalies(t *testing.T) {
	t.Parallel()
	const flag, enforce = scoreboard.AnomalyFlag, scoreboard.AnomalyEnforce
	policy := &scoreboard.IngestPolicy{Anomalies: scoreboard.Anomalies{
		Size: flag, SizeFactor: 10, Frequency: enforce, MaxEvents: scoreboard.Quota{N: 20, Per: time.Hour},
		Amount: flag, MaxPoints: scoreboard.Quota{N: 500, Per: time.Hour}, Travel: enforce, TravelWindow: time.Hour,
	}}
	s, conn := storetest.New(t, withPolicy(policy))
	open := func() (rules []string) {
		flags, err := s.Moderation.ListFlags(t.Context(), "open", "", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range flags {
			rules = append(rules, fmt.Sprintf("%s %s x%d", f.User, f.Rule, f.Times))
		}
		slices.Sort(rules)
		return rules
	}
	for i := range 5 {
		record(t, s, increment("size", 3, fmt.Sprint("e", i)), increment("amount", 100, fmt.Sprint("e", i)))
	}
	if got := open(); got != nil {
		t.Fatalf("no anomaly yet, but flagged: %v", got)
	}
	record(t, s, increment("size", 30, "tenfold"), increment("size", 301, "more"), increment("amount", 1, "over"))
	if got := open(); !slices.Equal(got, []string{"amount amount x1", "size size x1"}) {
		t.Errorf("flagged: %v", got)
	}
	var batch []scoreboard.Increment
	for i := range 25 {
		batch = append(batch, increment("often", 1, fmt.Sprint("e", i)))
	}
	rejected := 0
	for _, o := range append(record(t, s, batch...), record(t, s, increment("often", 1, "late"))...) {
		if wire.CodeOf(o.Err) == wire.CodeRuleViolated {
			rejected++
		}
	}
	if rejected != 6 {
		t.Errorf("frequency: %d rejected, want 6", rejected)
	}
	from := func(country, event string) scoreboard.Increment {
		in := increment("travel", 1, event)
		in.Country = country
		return in
	}
	out := record(t, s, from("DE", "e1"), from("", "e2"), from("DE", "e3"), from("NZ", "e4"), from("DE", "e5"))
	for i, want := range []wire.Code{"", "", "", wire.CodeRuleViolated, ""} {
		if wire.CodeOf(out[i].Err) != want {
			t.Errorf("travel %d: got %v, want %q", i, out[i].Err, want)
		}
	}
	// At most one flag for each user and rule.
	if got := open(); !slices.Equal(
		got,
		[]string{"amount amount x1", "often frequency x2", "size size x1", "travel travel x1"},
	) {
		t.Errorf("flagged: %v", got)
	}
	if n := conn.Count(t, `select count(*) from user_score_histories where user_id = 'often'`); n != 20 {
		t.Errorf("%d recorded, want 20", n)
	}
	before := conn.Count(t, `select count(*) from flags`)
	policy.Anomalies = scoreboard.Anomalies{
		Frequency: scoreboard.AnomalyLog,
		MaxEvents: scoreboard.Quota{N: 1, Per: time.Hour},
	}
	if o := record(t, s, increment("often", 1, "logged"))[0]; o.Err != nil {
		t.Errorf("an anomaly in mode log was rejected: %v", o.Err)
	}
	if n := conn.Count(t, `select count(*) from flags`); n != before {
		t.Errorf("anomalies in mode log were flagged: %d flags", n)
	}
}

// However long a user's history is, an increment reads only the rows in the windows.
func TestRulesReadOnlyTheirWindows(t *testing.T) {
	t.Parallel()
	rules, err := scoreboard.ParseRules([]string{"kill:1:9;max=100/1m"})
	if err != nil {
		t.Fatal(err)
	}
	policy := &scoreboard.IngestPolicy{Rules: rules, Anomalies: scoreboard.Anomalies{
		Size:       scoreboard.AnomalyFlag,
		SizeFactor: 10,
		Frequency:  scoreboard.AnomalyFlag,
		MaxEvents:  scoreboard.Quota{N: 100, Per: time.Minute},
		Amount:     scoreboard.AnomalyFlag,
		MaxPoints:  scoreboard.Quota{N: 1_000_000, Per: time.Minute},
	}}
	s, conn := storetest.New(t)
	record(t, s, action("alice", 1, "first", "kill"))
	s.Close()
	// Inserted and not updated, because dead rows would be read, too.
	conn.Do(t, `insert into user_score_histories select (jsonb_populate_record(h, jsonb_build_object(
    'event_id', gen_random_uuid(), 'recorded_at', h.recorded_at - interval '26 hours'))).* from user_score_histories
        as h, generate_series(1, 3000)`)
	before := storetest.TableReads(t, conn)["user_score_histories"]
	s = storetest.Open(t, conn.URL, withPolicy(policy))
	const events = 20
	for i := range events {
		record(t, s, action("alice", 1, fmt.Sprint("new", i), "kill"))
	}
	s.Close()
	after := storetest.TableReads(t, conn)["user_score_histories"]
	// Each event reads the earlier ones, once for the rule and once for anomalies.
	if read := after.Scanned + after.Indexed - before.Scanned - before.Indexed; read > 4*events*events {
		t.Errorf("%d increments read %d rows of the ledger", events, read)
	}
}

// Naming more boards hides nothing from the rules: an event on ten boards is one event, and
// each board is examined.
func TestAnomaliesOnSeveralBoards(t *testing.T) {
	t.Parallel()
	const flag, enforce, off = scoreboard.AnomalyFlag, scoreboard.AnomalyEnforce, scoreboard.AnomalyOff
	policy := &scoreboard.IngestPolicy{}
	s, conn := storetest.New(t, withPolicy(policy))
	boards := make([]scoreboard.BoardID, scoreboard.MaxBoards)
	for i := range boards {
		boards[i] = scoreboard.BoardID(fmt.Sprint("b", i))
		createBoard(t, conn, string(boards[i]), "increment", "highest", 1, 1_000_000)
	}
	last := boards[len(boards)-1]
	for _, c := range []struct {
		rule      string
		anomalies scoreboard.Anomalies
		events    int
		then      scoreboard.Increment
	}{
		{
			"frequency",
			scoreboard.Anomalies{
				Frequency: enforce, MaxEvents: scoreboard.Quota{N: 60, Per: time.Hour},
				Size: off, Amount: off, Travel: off,
			},
			60, increment("frequency", 1, "more"),
		},
		{
			"size",
			scoreboard.Anomalies{Size: flag, SizeFactor: 10, Frequency: off, Amount: off, Travel: off},
			5, increment("size", 1000, "more", scoreboard.GlobalBoard, last),
		},
		{
			"amount",
			scoreboard.Anomalies{
				Amount: flag, MaxPoints: scoreboard.Quota{N: 150, Per: time.Hour},
				Size: off, Frequency: off, Travel: off,
			},
			150, increment("amount", 1, "more", scoreboard.GlobalBoard, last),
		},
	} {
		policy.Anomalies = c.anomalies
		for i := range c.events {
			in := increment(scoreboard.UserID(c.rule), 1, fmt.Sprint("e", i), boards...)
			if o := record(t, s, in)[0]; o.Err != nil {
				t.Fatalf("%s, event %d: %v", c.rule, i, o.Err)
			}
		}
		record(t, s, c.then)
		flags, err := s.Moderation.ListFlags(t.Context(), "open", scoreboard.UserID(c.rule), 0, 100)
		if err != nil || len(flags) != 1 || flags[0].Rule != c.rule || flags[0].Times != 1 {
			t.Errorf("%s: flags %+v, %v, want one", c.rule, flags, err)
		}
	}
}

// Of a user with thousands of events in the window, only as many as the rules need are read.
func TestAnomaliesReadFewRows(t *testing.T) {
	t.Parallel()
	const off = scoreboard.AnomalyOff
	policy := &scoreboard.IngestPolicy{Anomalies: scoreboard.Anomalies{
		Frequency: scoreboard.AnomalyLog, MaxEvents: scoreboard.Quota{N: 60, Per: time.Hour},
		Size: off, Amount: off, Travel: off,
	}}
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 1, "first"))
	s.Close()
	conn.Do(t, `insert into user_score_histories select (jsonb_populate_record(h, jsonb_build_object(
    'event_id', gen_random_uuid(), 'recorded_at', h.recorded_at - n * interval '1 millisecond'))).*
from user_score_histories as h, generate_series(1, 3000) as n`)
	conn.Do(t, `analyze user_score_histories`)
	before := storetest.TableReads(t, conn)["user_score_histories"]
	s = storetest.Open(t, conn.URL, withPolicy(policy))
	const events = 10
	for i := range events {
		record(t, s, increment("alice", 1, fmt.Sprint("new", i)))
	}
	s.Close()
	after := storetest.TableReads(t, conn)["user_score_histories"]
	read := after.Scanned + after.Indexed - before.Scanned - before.Indexed
	t.Logf("%d rows for each event", read/events)
	if read > 70*events {
		t.Errorf("%d increments read %d rows of the ledger", events, read)
	}
}

// The cost of rules and anomaly detection on the hot path: batches of a hundred
// users with fifty rows each from ten minutes ago.
func BenchmarkRules(b *testing.B) {
	const size, users, rows = 100, 1000, 50
	rules, err := scoreboard.ParseRules([]string{"kill:1:9;cooldown=1us;max=1000/1m", "*:1:9"})
	if err != nil {
		b.Fatal(err)
	}
	anomalies := scoreboard.Anomalies{
		Size:         scoreboard.AnomalyFlag,
		SizeFactor:   10,
		Frequency:    scoreboard.AnomalyFlag,
		MaxEvents:    scoreboard.Quota{N: 1000, Per: time.Hour},
		Amount:       scoreboard.AnomalyFlag,
		MaxPoints:    scoreboard.Quota{N: 1_000_000, Per: time.Hour},
		Travel:       scoreboard.AnomalyFlag,
		TravelWindow: time.Hour,
	}
	for _, c := range []struct {
		name   string
		policy scoreboard.IngestPolicy
	}{
		{"off", scoreboard.IngestPolicy{}},
		{"rules", scoreboard.IngestPolicy{Rules: rules}},
		{"anomalies", scoreboard.IngestPolicy{Anomalies: anomalies}},
		{"both", scoreboard.IngestPolicy{Rules: rules, Anomalies: anomalies}},
	} {
		b.Run(c.name, func(b *testing.B) {
			policy := &scoreboard.IngestPolicy{}
			s, conn := storetest.New(b, withPolicy(policy))
			n := 0
			batch := func() []scoreboard.Increment {
				items := make([]scoreboard.Increment, size)
				for i := range items {
					n++
					items[i] = action(scoreboard.UserID(fmt.Sprint("u", n%users)), 1, fmt.Sprint(n), "kill")
				}
				return items
			}
			for range users * rows / size {
				record(b, s, batch()...)
			}
			for _, sql := range []string{
				`update user_score_histories set recorded_at = recorded_at - interval '10 minutes'`,
				`vacuum analyze user_score_histories`,
			} {
				conn.Do(b, sql)
			}
			policy.Rules, policy.Anomalies = c.policy.Rules, c.policy.Anomalies
			before := n
			for b.Loop() {
				for _, o := range record(b, s, batch()...) {
					if o.Err != nil {
						b.Fatal(o.Err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n-before), "µs/increment")
		})
	}
}
