package store_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// Boards of the property test, besides those that reject everything.
var propertyModes = map[scoreboard.BoardID]scoreboard.Mode{
	"sum":   scoreboard.ModeIncrement,
	"other": scoreboard.ModeIncrement,
	"high":  scoreboard.ModeBest,
	"low":   scoreboard.ModeBest,
	"last":  scoreboard.ModeLatest,
	"goals": scoreboard.ModeIncrement,
	"duel":  scoreboard.ModeBest,
	"draw":  scoreboard.ModeLatest,
}

// Those with subscores; the others are "".
var propertySubscores = map[scoreboard.BoardID]scoreboard.Order{
	"goals": scoreboard.OrderHighest, "duel": scoreboard.OrderLowest, "draw": scoreboard.OrderHighest,
}

// submission is one planned increment. good reports that a state of the store could
// accept it.
type submission struct {
	user, event int
	delta       int64
	subscore    *scoreboard.Score
	boards      []scoreboard.BoardID
	good        bool
}

// Few users, events and deltas, so that repeats and conflicts are common.
func drawSubmission(t *rapid.T, maxKind int) submission {
	s := submission{user: rapid.IntRange(0, 2).Draw(t, "user"), event: rapid.IntRange(0, 9).Draw(t, "event")}
	kind := rapid.IntRange(0, maxKind).Draw(t, "kind")
	switch {
	case kind < 5:
		s.boards = rapid.SampledFrom([][]scoreboard.BoardID{{"sum"}, {"other"}, {"sum", "other"}, {"other", "sum"}}).
			Draw(t, "sums")
		s.delta, s.good = rapid.Int64Range(1, 3).Draw(t, "delta"), true
	case kind < 8:
		s.boards = rapid.SampledFrom([][]scoreboard.BoardID{
			{"high"},
			{"low"},
			{"high", "low"},
			{"last"},
			{"goals"},
			{"duel"},
			{"draw"},
			{"duel", "high"},
			{"sum", "goals"},
		}).Draw(t, "boards")
		s.delta, s.good = rapid.Int64Range(-3, 3).Draw(t, "delta"), true
		pairs := slices.ContainsFunc(s.boards, func(id scoreboard.BoardID) bool { return propertySubscores[id] != "" })
		if n := rapid.Int64Range(-2, 2).Draw(t, "subscore"); n < 2 && pairs {
			s.subscore = new(scoreboard.Score(n))
		}
		last := s.boards[len(s.boards)-1]
		if s.delta == 0 && propertyModes[last] == scoreboard.ModeIncrement {
			s.good = len(s.boards) == 1 && s.subscore != nil && *s.subscore != 0
		}
	default:
		s.boards = rapid.SampledFrom([][]scoreboard.BoardID{
			{"nowhere"}, {"frozen"}, {"sum", "high"}, {"sum", "frozen"},
		}).
			Draw(t, "bad")
		s.delta = rapid.SampledFrom([]int64{0, 1, 101}).Draw(t, "delta")
	}
	return s
}

// drawBatch draws submissions of every kind, or such as only add.
var drawBatch = rapid.Custom(func(t *rapid.T) []submission {
	maxKind := rapid.SampledFrom([]int{4, 9}).Draw(t, "max kind")
	batch := make([]submission, rapid.IntRange(1, 6).Draw(t, "batch"))
	for i := range batch {
		batch[i] = drawSubmission(t, maxKind)
	}
	return batch
})

// plannedFault is a fault at the nth message after the previous fault.
type plannedFault struct {
	after int
	kind  int // 0 cuts, 1 terminates the backend, 2 delays a COMMIT
	late  time.Duration
}

var drawFault = rapid.Custom(func(t *rapid.T) plannedFault {
	return plannedFault{
		after: rapid.IntRange(1, 150).Draw(t, "after"), kind: rapid.IntRange(0, 2).Draw(t, "kind"),
		late: time.Duration(rapid.IntRange(1, 60).Draw(t, "late ms")) * time.Millisecond,
	}
})

// injectFaults returns a function that injects them in order.
func injectFaults(list []plannedFault, kill func(backend uint32)) func(message) effect {
	seen := 0
	return func(m message) effect {
		if seen++; len(list) == 0 || seen < list[0].after {
			return effect{}
		}
		now := list[0]
		switch {
		case now.kind == 2 && (m.answer || !m.commit):
			return effect{} // until the next COMMIT
		case now.kind == 1 && m.backend == 0:
			return effect{}
		}
		list, seen = list[1:], 0
		switch now.kind {
		case 1:
			kill(m.backend)
			return effect{}
		case 2:
			return effect{late: time.After(now.late)}
		}
		return effect{cut: true}
	}
}

// Whatever runs concurrently and fails: afterwards the ledger is consistent, every
// event counts once, and every outcome matches the ledger.
func TestAnyInterleavingKeepsTheLedgerConsistent(t *testing.T) {
	t.Parallel()
	var proxies [2]*proxy
	var stores [2]*store.Store
	_, conn := storetest.New(t, func(o *store.Options) { o.LockWait = 30 * time.Millisecond })
	killer := backends.Connect(t, conn.URL)
	var killMu sync.Mutex
	kill := func(backend uint32) {
		killMu.Lock()
		defer killMu.Unlock()
		if _, err := killer.Exec(t.Context(), `select pg_terminate_backend($1)`, int32(backend)); err != nil {
			t.Error(err)
		}
	}
	for i := range stores {
		proxies[i] = newProxy(t, conn.URL)
		stores[i] = storetest.Open(t, proxies[i].url)
	}
	for id, mode := range propertyModes {
		order := "highest"
		if id == "low" {
			order = "lowest"
		}
		createBoard(t, conn, string(id), string(mode), order, -100, 100)
		if subscore := propertySubscores[id]; subscore != "" {
			conn.Do(t, `update boards set subscore = $2, min_subscore = -9, max_subscore = 9 where board_id = $1`, id,
				subscore)
		}
	}
	createBoard(t, conn, "frozen", "increment", "highest", 1, 100)
	conn.Do(t, `update boards set status = 'frozen' where board_id = 'frozen'`)

	var runs, repeats, conflicts, injected atomic.Int64
	property := func(rt *rapid.T) {
		run := runs.Add(1)
		plans := rapid.SliceOfN(rapid.SliceOfN(drawBatch, 1, 4), 2, 4).Draw(rt, "plans")
		for i := range proxies {
			list := rapid.SliceOfN(drawFault, 0, 3).Draw(rt, "faults")
			onMessage := injectFaults(list, kill)
			proxies[i].watch(func(m message) effect {
				v := onMessage(m)
				if v != (effect{}) {
					injected.Add(1)
				}
				return v
			})
		}
		user := func(n int) scoreboard.UserID { return scoreboard.UserID(fmt.Sprintf("r%d-%d", run, n)) }
		var mu sync.Mutex
		var results []submitted
		var all sync.WaitGroup
		for g, plan := range plans {
			all.Go(func() {
				for _, batch := range plan {
					incs := make([]scoreboard.Increment, len(batch))
					for i, s := range batch {
						incs[i] = increment(user(s.user), s.delta, fmt.Sprintf("e%d", s.event), s.boards...)
						incs[i].Subscore = s.subscore
					}
					outcomes := recordUntilDone(t, stores[g%2], incs)
					mu.Lock()
					for i, o := range outcomes {
						results = append(results, submitted{batch[i], incs[i], o})
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		for i := range proxies {
			proxies[i].watch(nil)
		}
		l := readLedger(t, conn, fmt.Sprintf("r%d-%%", run))
		l.check(rt)
		for _, o := range results {
			o.check(rt, l)
			switch {
			case o.outcome.Err == nil && o.outcome.Receipts[0].Replayed:
				repeats.Add(1)
			case wire.CodeOf(o.outcome.Err) == wire.CodeEventConflict:
				conflicts.Add(1)
			}
		}
	}
	started := time.Now()
	for rapid.Check(t, property); os.Getenv("SCOREBOARD_PROOF") == "1" && time.Since(started) < 3*time.Minute; {
		rapid.Check(t, property)
	}
	added, decided := batches(t, stores[0], "added"), batches(t, stores[0], "decided")
	t.Logf(
		"%d runs in %s: %v batches added and %v decided by one of two stores, %d repeats, %d conflicts, "+
			"%d connections lost",
		runs.Load(),
		time.Since(started).Round(time.Second),
		added,
		decided,
		repeats.Load(),
		conflicts.Load(),
		injected.Load(),
	)
	if repeats.Load() == 0 || conflicts.Load() == 0 || injected.Load() == 0 || added < 20 || decided < 20 {
		t.Error("no repeats, conflicts or lost connections, or only one way to record: the test is vacuous")
	}
}

// recordUntilDone submits a batch until every item has an outcome, as clients do.
func recordUntilDone(t *testing.T, s *store.Store, batch []scoreboard.Increment) []scoreboard.Outcome {
	var outcomes []scoreboard.Outcome
	var err error
	for range 100 {
		outcomes, err = s.Increments.Record(t.Context(), batch)
		if err == nil &&
			!slices.ContainsFunc(
				outcomes,
				func(o scoreboard.Outcome) bool { return errors.Is(o.Err, scoreboard.ErrUserLocked) },
			) {
			return outcomes
		}
		if err != nil && wire.CodeOf(err) != wire.CodeUnavailable {
			t.Errorf("record: %v", err)
			return nil
		}
	}
	t.Errorf("the batch was not recorded after 100 attempts: %+v, %v", outcomes, err)
	return nil
}

// submitted is an increment with its outcome.
type submitted struct {
	plan    submission
	inc     scoreboard.Increment
	outcome scoreboard.Outcome
}

func (o submitted) check(t *rapid.T, l *ledger) {
	key := eventOf{o.inc.User, o.inc.Event.UUID}
	rows := l.events[key]
	same := len(rows) > 0 && rows[0].hash == o.inc.PayloadHash()
	code := wire.CodeOf(o.outcome.Err)
	switch {
	case code == "":
		if !same || len(rows) != len(o.inc.Boards) || len(o.outcome.Receipts) != len(o.inc.Boards) {
			t.Fatalf("%+v got %+v, the ledger has %+v", o.plan, o.outcome, rows)
		}
		for i, r := range o.outcome.Receipts {
			at := slices.IndexFunc(rows, func(row ledgerRow) bool { return row.board == r.Board })
			if r.Board != o.inc.Boards[i] || at < 0 || !rows[at].matches(r) {
				t.Fatalf("%+v got %+v, the ledger has %+v", o.plan, r, rows)
			}
		}
		if !o.plan.good {
			t.Fatalf("%+v was accepted", o.plan)
		}
	case code == wire.CodeEventConflict:
		if same || len(rows) == 0 {
			t.Fatalf("%+v was rejected as a conflict with %+v", o.plan, rows)
		}
	case o.plan.good || same:
		t.Fatalf("%+v was rejected: %v; the ledger has %+v", o.plan, o.outcome.Err, rows)
	}
}
