package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// ruled is an increment that names no board, with attributes such as "region=eu".
func ruled(user scoreboard.UserID, delta int64, event string, attributes ...string) scoreboard.Increment {
	in := increment(user, delta, event)
	in.ByRules = true
	values := make(map[string]string)
	for _, attribute := range attributes {
		name, value, _ := strings.Cut(attribute, "=")
		if name == "action" {
			in.Action = value
			continue
		}
		values[name] = value
	}
	var err error
	if in.Attributes, err = scoreboard.ParseAttributes(values); err != nil {
		panic(err)
	}
	return in
}

func setRule(t testing.TB, s *store.Store, board scoreboard.BoardID, rule scoreboard.BoardRule) {
	t.Helper()
	if _, err := s.Boards.SetRule(t.Context(), board, &rule, nil); err != nil {
		t.Fatal(err)
	}
}

func inRegion(regions ...string) scoreboard.BoardRule { return scoreboard.BoardRule{Regions: regions} }

// reached is the boards of an outcome's receipts with their scores, or the code of the error.
func reached(o scoreboard.Outcome) string {
	if o.Err != nil {
		return string(wire.CodeOf(o.Err))
	}
	var parts []string
	for _, r := range o.Receipts {
		parts = append(parts, fmt.Sprintf("%s:%d", r.Board.Family(), r.NewScore))
	}
	return strings.Join(parts, " ")
}

func expectReached(t testing.TB, s *store.Store, in scoreboard.Increment, want string) scoreboard.Outcome {
	t.Helper()
	o := record(t, s, in)[0]
	if got := reached(o); got != want {
		t.Errorf("event %s of %s: got %s (%v), want %s", in.Event.Text, in.User, got, o.Err, want)
	}
	return o
}

func TestRulesAddBoards(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for _, b := range []*scoreboard.Board{
		boardOf("eu"), boardOf("wins"), boardOf("pc-eu"), boardOf("weekly", every(scoreboard.PeriodWeekly)),
	} {
		create(t, s, b)
	}
	setRule(t, s, "eu", inRegion("eu", "uk"))
	setRule(t, s, "wins", scoreboard.BoardRule{Actions: []string{"win"}})
	setRule(t, s, "pc-eu", scoreboard.BoardRule{
		Regions: []string{"eu"}, Attributes: map[string][]string{"platform": {"pc", "mac"}},
	})
	setRule(t, s, "weekly", scoreboard.BoardRule{Actions: []string{"weekly"}})
	expectReached(t, s, ruled("ada", 5, "e1"), "global:5")
	expectReached(t, s, ruled("ada", 5, "e2", "region=eu"), "global:10 eu:5")
	first := expectReached(t, s, ruled("ada", 1, "e3", "region=eu", "platform=pc", "action=win"),
		"global:11 eu:6 pc-eu:1 wins:1")
	expectReached(t, s, ruled("ada", 1, "e4", "platform=pc"), "global:12")
	expectReached(t, s, ruled("ada", 1, "e5", "region=EU"), "global:13")
	o := expectReached(t, s, ruled("ada", 2, "e6", "action=weekly"), "global:15 weekly:2")
	if board := o.Receipts[1].Board; !board.IsInstance() {
		t.Errorf("the event counts on %s, want the current instance", board)
	}
	named := increment("ada", 1, "e7", "global")
	named.Action = "win"
	expectReached(t, s, named, "global:16")
	// A repeat gets the receipts of the first submission, in its order.
	again := expectReached(t, s, ruled("ada", 1, "e3", "region=eu", "platform=pc", "action=win"),
		"global:11 eu:6 pc-eu:1 wins:1")
	for i := range again.Receipts {
		want := first.Receipts[i]
		want.Replayed = true
		if !sameReceipt(again.Receipts[i], want) {
			t.Errorf("the repeat got %+v, want %+v", again.Receipts[i], want)
		}
	}
	expectReached(t, s, ruled("ada", 1, "e3", "region=eu", "action=win"), "event_conflict")
	expectReached(t, s, ruled("ada", 1, "e3", "action=win"), "event_conflict")
	// Twice in one batch, added and decided: the second is a repeat.
	for i, policy := range []*scoreboard.IngestPolicy{nil, examined()} {
		node := s
		if policy != nil {
			node = storetest.Open(t, conn.URL, withPolicy(policy))
		}
		in := ruled("bob", 1, fmt.Sprint("twice", i), "region=uk")
		for n, o := range record(t, node, in, in) {
			want := fmt.Sprintf("global:%d eu:%d", i+1, i+1)
			if reached(o) != want || o.Receipts[1].Replayed != (n == 1) {
				t.Errorf("item %d: got %s, want %s", n, reached(o), want)
			}
		}
	}
	if batches(t, s, "added") < 5 {
		t.Error("increments that match boards without periods must be added in one round trip")
	}
}

// A node's rules are those of the last change on any node, from the next increment on.
func TestRuleChangesReachEveryNodeAtOnce(t *testing.T) {
	t.Parallel()
	one, conn := storetest.New(t)
	two := storetest.Open(t, conn.URL)
	for _, board := range []scoreboard.BoardID{"eu", "us"} {
		create(t, one, boardOf(board))
	}
	expectReached(t, two, ruled("ada", 1, "e1", "region=eu"), "global:1")
	setRule(t, one, "eu", inRegion("eu"))
	expectReached(t, two, ruled("ada", 1, "e2", "region=eu"), "global:2 eu:1")
	setRule(t, one, "us", inRegion("eu", "us"))
	expectReached(t, two, ruled("ada", 1, "e3", "region=eu"), "global:3 eu:2 us:1")
	if _, err := one.Boards.ClearRule(t.Context(), "us", nil); err != nil {
		t.Fatal(err)
	}
	expectReached(t, two, ruled("ada", 1, "e4", "region=eu"), "global:4 eu:3")
	expectReached(t, two, ruled("ada", 1, "e3", "region=eu"), "global:3 eu:2 us:1")
	if _, err := one.Boards.FreezeBoard(t.Context(), "eu", nil); err != nil {
		t.Fatal(err)
	}
	expectReached(t, two, ruled("ada", 1, "e5", "region=eu"), "global:5")
	if _, err := one.Boards.UnfreezeBoard(t.Context(), "eu", nil); err != nil {
		t.Fatal(err)
	}
	expectReached(t, two, ruled("ada", 1, "e6", "region=eu"), "global:6 eu:4")
	expectReached(t, two, ruled("ada", 1, "e5", "region=eu"), "global:5")
	if _, err := one.Boards.ArchiveBoard(t.Context(), "eu", nil); err != nil {
		t.Fatal(err)
	}
	expectReached(t, two, ruled("ada", 1, "e7", "region=eu"), "global:7")
	expectReached(t, two, ruled("ada", 1, "e6", "region=eu"), "global:6 eu:4")
	// An increment that names its board passes no version of the rules.
	expectReached(t, two, increment("ada", 1, "e8"), "global:8")
}

// A database that lost the last change of rules in a failover gets another number for the next
// change: a node that read the lost rules reads the new ones.
func TestRulesAfterALostChange(t *testing.T) {
	t.Parallel()
	one, conn := storetest.New(t)
	two := storetest.Open(t, conn.URL)
	for _, board := range []scoreboard.BoardID{"eu", "us"} {
		create(t, one, boardOf(board))
	}
	conn.Do(t, `create table before as select rules_version from boards where board_id = 'global'`)
	setRule(t, one, "eu", inRegion("eu"))
	expectReached(t, two, ruled("ada", 1, "e1", "region=eu"), "global:1 eu:1")
	conn.Do(t, `update boards set rules_version = (select rules_version from before) where board_id = 'global'`)
	conn.Do(t, `delete from board_rules`)
	setRule(t, one, "us", inRegion("eu"))
	expectReached(t, two, ruled("ada", 1, "e2", "region=eu"), "global:2 us:1")
}

// A periodic board is skipped, like a frozen one, while its period is closed.
func TestClosedInstanceWithARuleIsSkipped(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	setRule(t, s, "daily", scoreboard.BoardRule{})
	o := expectReached(t, s, ruled("ada", 1, "e1"), "global:1 daily:1")
	if _, err := s.Boards.FreezeBoard(t.Context(), o.Receipts[1].Board, nil); err != nil {
		t.Fatal(err)
	}
	expectReached(t, s, ruled("ada", 1, "e2"), "global:2")
	if _, err := s.Boards.UnfreezeBoard(t.Context(), o.Receipts[1].Board, nil); err != nil {
		t.Fatal(err)
	}
	expectReached(t, s, ruled("ada", 1, "e3"), "global:3 daily:2")
}

// What a board with a rule rejects, no board counts.
func TestRuledBoardRejectsForAll(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("small", func(b *scoreboard.Board) { b.MaxDelta, b.MaxScore = 10, 15 }))
	setRule(t, s, "small", inRegion("eu"))
	o := expectReached(t, s, ruled("ada", 11, "e1", "region=eu"), "delta_out_of_range")
	if !strings.Contains(o.Err.Error(), "board small, whose rule") {
		t.Errorf("the error is %v, want the name of the board", o.Err)
	}
	expectReached(t, s, ruled("ada", 10, "e2", "region=eu"), "global:10 small:10")
	o = expectReached(t, s, ruled("ada", 6, "e3", "region=eu"), "score_out_of_range")
	if !strings.Contains(o.Err.Error(), "board small") {
		t.Errorf("the error is %v, want the name of the board", o.Err)
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 2 {
		t.Errorf("%d rows in the ledger, want those of the one event that counts", n)
	}
}

func TestRulesAddAtMostNineBoards(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	for i := range scoreboard.MaxBoards {
		id := scoreboard.BoardID(fmt.Sprintf("b%02d", i))
		create(t, s, boardOf(id))
		setRule(t, s, id, inRegion("eu"))
		if i == scoreboard.MaxBoards-2 {
			want := "global:1"
			for n := range scoreboard.MaxBoards - 1 {
				want += fmt.Sprintf(" b%02d:1", n)
			}
			expectReached(t, s, ruled("ada", 1, "e1", "region=eu"), want)
		}
	}
	o := expectReached(t, s, ruled("ada", 1, "e2", "region=eu"), "rule_violated")
	if !strings.Contains(o.Err.Error(), "the rules of 10 boards match; an increment counts on at most 10 boards") {
		t.Errorf("got %v", o.Err)
	}
	// A repeat gets its receipts, and another rule does not matter to others.
	if o := record(t, s, ruled("ada", 1, "e1", "region=eu"))[0]; len(o.Receipts) != scoreboard.MaxBoards {
		t.Errorf("the repeat: got %v", o)
	}
	expectReached(t, s, ruled("ada", 1, "e3", "region=us"), "global:2")
}

// A key that is limited to boards reaches no others by their rules.
func TestRulesKeepToTheBoardsOfTheKey(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	create(t, s, boardOf("eu"))
	create(t, s, boardOf("all"))
	setRule(t, s, "eu", inRegion("eu"))
	setRule(t, s, "all", scoreboard.BoardRule{})
	in := ruled("ada", 1, "e1", "region=eu")
	in.RuleBoards = []scoreboard.BoardID{"global", "eu"}
	expectReached(t, s, in, "global:1 eu:1")
	in = ruled("ada", 1, "e2", "region=eu")
	in.RuleBoards = []scoreboard.BoardID{"global"}
	expectReached(t, s, in, "global:2")
	expectReached(t, s, ruled("ada", 1, "e3", "region=eu"), "global:3 all:1 eu:2")
}

func TestBoardsThatCannotHaveARule(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("best", func(b *scoreboard.Board) { b.Mode = scoreboard.ModeBest }))
	create(t, s, boardOf("proof", func(b *scoreboard.Board) { b.Require.ActionToken = true }))
	create(t, s, boardOf("old"))
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	create(t, s, boardOf("free"))
	if _, err := s.Boards.ArchiveBoard(t.Context(), "old", nil); err != nil {
		t.Fatal(err)
	}
	instance := conn.Count(t, `select count(*) from boards where family_id = 'daily' and board_id <> 'daily'`)
	if instance == 0 {
		t.Fatal("no instances")
	}
	for board, code := range map[scoreboard.BoardID]wire.Code{
		"best": wire.CodeConflict, "proof": wire.CodeConflict, "old": wire.CodeConflict,
		"nowhere": wire.CodeNotFound, "global": wire.CodeInvalidRequest,
	} {
		_, err := s.Boards.SetRule(t.Context(), board, &scoreboard.BoardRule{}, nil)
		if wire.CodeOf(err) != code {
			t.Errorf("board %s: got %v, want %s", board, err, code)
		}
	}
	// A board with a rule cannot come to have requirements.
	setRule(t, s, "free", scoreboard.BoardRule{})
	change := &scoreboard.BoardChange{Require: &scoreboard.Requirements{Attestation: true}}
	_, err := s.Boards.ChangeBoard(t.Context(), "free", change, nil)
	if wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("a requirement for a board with a rule: got %v, want a conflict", err)
	}
	if _, err := s.Boards.ClearRule(t.Context(), "free", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Boards.ChangeBoard(t.Context(), "free", change, nil); err != nil {
		t.Error(err)
	}
	// Rules are bounded.
	conn.Do(t, `insert into board_rules (board_id, actions, regions, attributes)
select 'r' || n, '{}', '{x}', '{}' from generate_series(1, $1) as n`, scoreboard.MaxBoardRules)
	if _, err := s.Boards.SetRule(t.Context(), "daily", &scoreboard.BoardRule{}, nil); wire.CodeOf(err) !=
		wire.CodeConflict {
		t.Errorf("one rule too many: got %v, want a conflict", err)
	}
}

// ruleState is the rules between two changes: from when its change began to when the next
// one had returned.
type ruleState struct {
	begin, end time.Time // a zero end: until now
	rules      map[scoreboard.BoardID]scoreboard.BoardRule
}

// boards returns the boards on which an increment counts by a naive reading of the rules.
func (s *ruleState) boards(in *scoreboard.Increment) string {
	reached := []string{"global"}
	for board, rule := range s.rules {
		if len(rule.Actions) > 0 && !slices.Contains(rule.Actions, in.Action) {
			continue
		}
		region, ok := in.Attributes.Map()["region"]
		if len(rule.Regions) > 0 && (!ok || !slices.Contains(rule.Regions, region)) {
			continue
		}
		reached = append(reached, string(board))
	}
	slices.Sort(reached[1:])
	return strings.Join(reached, " ")
}

// submittedRuled is an increment with what a node answered.
type submittedRuled struct {
	in         scoreboard.Increment
	boards     string
	began, got time.Time
}

// Two nodes record increments with repeats while rules change and boards are frozen: each
// event counts once, on the boards of the rules at some moment of its first submission, and
// every repeat gets those.
func TestRulesFollowAModel(t *testing.T) {
	t.Parallel()
	one, conn := storetest.New(t)
	nodes := []*store.Store{one, storetest.Open(t, conn.URL)}
	ids := []scoreboard.BoardID{"a", "b", "c", "d"}
	for _, id := range ids {
		create(t, one, boardOf(id))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	states := []*ruleState{{rules: map[scoreboard.BoardID]scoreboard.BoardRule{}}}
	var all []submittedRuled
	var mu sync.Mutex
	changing := make(chan struct{})
	var workers sync.WaitGroup
	for worker := range 6 {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			for n := 0; ; n++ {
				select {
				case <-changing:
					return
				default:
				}
				batch := make([]scoreboard.Increment, 1+random.IntN(4))
				for i := range batch {
					event := fmt.Sprint("e", random.IntN(n+2))
					action := []string{"", "win", "loss"}[random.IntN(3)]
					attributes := []string{"action=" + action}
					region := []string{"", "eu", "us"}[random.IntN(3)]
					if region != "" {
						attributes = append(attributes, "region="+region)
					}
					// The event decides its payload, so most repeats are no conflicts.
					user := scoreboard.UserID(fmt.Sprint("u", random.IntN(20)))
					batch[i] = ruled(user, 1, event+"."+action+"."+region, attributes...)
				}
				began := time.Now()
				outcomes, err := nodes[random.IntN(2)].Increments.Record(t.Context(), batch)
				if err != nil {
					t.Error(err)
					return
				}
				got := time.Now()
				mu.Lock()
				for i, o := range outcomes {
					if errors.Is(o.Err, scoreboard.ErrUserLocked) {
						continue // the others took too long; nothing is recorded, and clients repeat it
					}
					if o.Err != nil {
						t.Errorf("event %s: %v", batch[i].Event.Text, o.Err)
						continue
					}
					var names []string
					for _, r := range o.Receipts {
						names = append(names, string(r.Board))
					}
					all = append(all, submittedRuled{batch[i], strings.Join(names, " "), began, got})
				}
				mu.Unlock()
			}
		})
	}
	// A busy machine records less in the same time.
	end := time.Now().Add(time.Minute)
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		_, matched, repeats := countRuled(all)
		return matched >= minMatched && repeats >= minRepeats || time.Now().After(end) || t.Failed()
	}
	changeRules(t, rand.New(rand.NewPCG(seed, 99)), nodes, ids, &states, enough)
	close(changing)
	workers.Wait()
	checkRuled(t, conn, states, all)
}

// What a run of the model must have seen at least.
const minMatched, minRepeats = 100, 50

// ruledEvent is what makes a submission a repeat.
type ruledEvent struct {
	user scoreboard.UserID
	id   [16]byte
}

// countRuled groups submissions by event, and counts the boards that they reached by rules, and
// the repeats.
func countRuled(all []submittedRuled) (byEvent map[ruledEvent][]submittedRuled, matched, repeats int) {
	byEvent = make(map[ruledEvent][]submittedRuled)
	for _, s := range all {
		k := ruledEvent{s.in.User, s.in.Event.UUID}
		byEvent[k] = append(byEvent[k], s)
	}
	for _, submissions := range byEvent {
		matched += len(strings.Fields(submissions[0].boards)) - 1
		repeats += len(submissions) - 1
	}
	return byEvent, matched, repeats
}

// changeRules changes rules, or the status of a board, many times, and until it is enough.
func changeRules(
	t *testing.T, random *rand.Rand, nodes []*store.Store, ids []scoreboard.BoardID, states *[]*ruleState,
	enough func() bool,
) {
	t.Helper()
	set := make(map[scoreboard.BoardID]scoreboard.BoardRule) // also of frozen boards
	frozen := make(map[scoreboard.BoardID]bool)
	for n := 0; n < 80 || !enough(); n++ {
		boards, id := nodes[random.IntN(2)].Boards, ids[random.IntN(len(ids))]
		now := &ruleState{begin: time.Now(), rules: make(map[scoreboard.BoardID]scoreboard.BoardRule)}
		var err error
		switch random.IntN(5) {
		case 0:
			_, err = boards.ClearRule(t.Context(), id, nil)
			delete(set, id)
		case 1:
			if frozen[id] = !frozen[id]; frozen[id] {
				_, err = boards.FreezeBoard(t.Context(), id, nil)
			} else {
				_, err = boards.UnfreezeBoard(t.Context(), id, nil)
			}
		default:
			var rule scoreboard.BoardRule
			if random.IntN(2) == 0 {
				rule.Actions = [][]string{{"win"}, {"win", "loss"}}[random.IntN(2)]
			}
			if random.IntN(2) == 0 {
				rule.Regions = [][]string{{"eu"}, {"us", "eu"}}[random.IntN(2)]
			}
			_, err = boards.SetRule(t.Context(), id, &rule, nil)
			set[id] = rule
		}
		if err != nil {
			t.Error(err)
		}
		for id, rule := range set {
			if !frozen[id] {
				now.rules[id] = rule
			}
		}
		(*states)[len(*states)-1].end = time.Now()
		*states = append(*states, now)
		time.Sleep(time.Duration(random.IntN(25)) * time.Millisecond) // so that several increments see the same rules
	}
}

// checkRuled compares what nodes answered and wrote with the model.
func checkRuled(t *testing.T, conn *backends.Conn, states []*ruleState, all []submittedRuled) {
	t.Helper()
	byEvent, matched, repeats := countRuled(all)
	want := make(map[string]int64) // scores
	rows := int64(0)
	for _, submissions := range byEvent {
		boards := submissions[0].boards
		explained := false
		for _, s := range submissions {
			if s.boards != boards {
				t.Fatalf("event %s of %s counts on %s and on %s", s.in.Event.Text, s.in.User, boards, s.boards)
			}
			for _, state := range states {
				overlap := !state.begin.After(s.got) && (state.end.IsZero() || !state.end.Before(s.began))
				explained = explained || overlap && state.boards(&s.in) == boards
			}
		}
		if !explained {
			t.Errorf("event %s counts on %s, which no rules of its time say", submissions[0].in.Event.Text, boards)
		}
		names := strings.Fields(boards)
		for _, board := range names {
			want[string(submissions[0].in.User)+" "+board]++
		}
		rows += int64(len(names))
	}
	t.Logf("%d events, %d rows by rules, %d repeats", len(byEvent), matched, repeats)
	if matched < minMatched || repeats < minRepeats {
		t.Error("too few events reached boards by rules, or were repeated")
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != rows {
		t.Errorf("%d rows in the ledger, want %d", n, rows)
	}
	for _, line := range lines(t, conn, `select format('%s %s %s', user_id, board_id, score) from scores`) {
		f := strings.Fields(line)
		if k := f[0] + " " + f[1]; fmt.Sprint(want[k]) != f[2] {
			t.Errorf("score %s, want %d", line, want[k])
		} else {
			delete(want, k)
		}
	}
	if len(want) > 0 {
		t.Errorf("scores are missing: %v", want)
	}
}
