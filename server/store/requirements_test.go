package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// ending returns an increment that ends an action.
func ending(user scoreboard.UserID, event string, action byte) scoreboard.Increment {
	in := increment(user, 5, event)
	in.ActionID = [16]byte{action}
	return in
}

func recordOne(t testing.TB, s *store.Store, in scoreboard.Increment) scoreboard.Outcome {
	t.Helper()
	out, err := s.Increments.Record(context.Background(), []scoreboard.Increment{in})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func TestActionTokenIsUsedOnce(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	if o := recordOne(t, s, ending("alice", "e1", 1)); o.Err != nil {
		t.Fatal(o.Err)
	}
	if o := recordOne(t, s, ending("alice", "e1", 1)); o.Err != nil || !o.Receipts[0].Replayed {
		t.Errorf("repeat: got %+v, want its receipt", o)
	}
	if o := recordOne(t, s, ending("alice", "e1", 2)); o.Err != nil || !o.Receipts[0].Replayed {
		t.Errorf("repeat with another token: got %+v, want its receipt", o)
	}
	if o := recordOne(t, s, ending("alice", "e2", 2)); o.Err != nil {
		t.Errorf("the repeat's token for another event: got %v, want a receipt", o.Err)
	}
	if o := recordOne(t, s, ending("alice", "e3", 1)); wire.CodeOf(o.Err) != wire.CodeTokenUsed {
		t.Errorf("a used token: got %v, want token_used", o.Err)
	}
	out, err := s.Increments.Record(t.Context(), []scoreboard.Increment{
		ending("bob", "e1", 3), ending("bob", "e1", 3), ending("bob", "e2", 3), ending("bob", "e3", 4),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []wire.Code{"", "", wire.CodeTokenUsed, ""} {
		if code := wire.CodeOf(out[i].Err); code != want {
			t.Errorf("item %d of a batch: got %q, want %q", i, code, want)
		}
	}
	refused := ending("carol", "e1", 5)
	refused.Delta = 0
	if o := recordOne(t, s, refused); wire.CodeOf(o.Err) != wire.CodeInvalidRequest {
		t.Fatalf("got %v", o.Err)
	}
	if o := recordOne(t, s, ending("carol", "e2", 5)); o.Err != nil {
		t.Errorf("a token whose first event was rejected: %v", o.Err)
	}
}

func TestActionTokenIsUsedOnceAcrossNodes(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	other := storetest.Open(
		t,
		conn.URL,
		func(o *store.Options) { o.LockWait, o.Timeout = 5*time.Second, 10*time.Second },
	)
	var senders sync.WaitGroup
	outcomes := make([]scoreboard.Outcome, 16)
	for i := range outcomes {
		senders.Go(func() {
			node := s
			if i%2 == 1 {
				node = other
			}
			out, err := node.Increments.Record(
				context.Background(),
				[]scoreboard.Increment{ending("alice", fmt.Sprint("e", i), 1)},
			)
			if err != nil {
				t.Error(err)
				return
			}
			outcomes[i] = out[0]
		})
	}
	senders.Wait()
	done := 0
	for _, o := range outcomes {
		switch code := wire.CodeOf(o.Err); code {
		case "":
			done++
		case wire.CodeTokenUsed, wire.CodeUnavailable: // unavailable: the user was locked too long
		default:
			t.Errorf("got %v", o.Err)
		}
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 1 || done != 1 {
		t.Errorf("got %d receipts and %d ledger rows, want 1 of each", done, n)
	}
}

// A token used by a transaction that did not commit is not used.
func TestTokenIsNotUsedIfKilledBeforeCommit(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	exec := func(sql string) {
		t.Helper()
		conn.Do(t, sql)
	}
	exec(`create function refuse() returns trigger language plpgsql as $$ begin raise 'the disk is gone'; end $$`)
	exec(
		`create constraint trigger refuse after insert on used_action_tokens deferrable initially deferred
for each row execute function refuse()`,
	)
	if _, err := s.Increments.Record(t.Context(), []scoreboard.Increment{ending("alice", "e1", 1)}); err == nil {
		t.Fatal("no error from a failed commit")
	}
	exec(`drop trigger refuse on used_action_tokens`)
	if o := recordOne(t, s, ending("alice", "e1", 1)); o.Err != nil || o.Receipts[0].Replayed {
		t.Errorf("retry: got %+v, want a first receipt", o)
	}
}

func TestBoardRequirements(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `insert into boards (board_id, family_id, mode, require_action_token, require_attestation) values
    ('timed', 'timed', 'increment', true, false), ('vouched', 'vouched', 'increment', false, true)`)
	with := func(event, board string, action byte, attested bool) scoreboard.Increment {
		in := increment("alice", 5, event, scoreboard.BoardID(board))
		in.Attested = attested
		if action > 0 {
			in.ActionID = [16]byte{action}
		}
		return in
	}
	for _, c := range []struct {
		name string
		in   scoreboard.Increment
		want wire.Code
	}{
		{"no action token", with("e1", "timed", 0, true), wire.CodeRuleViolated},
		{"an action token", with("e1", "timed", 1, false), ""},
		{"no attestation", with("e2", "vouched", 2, false), wire.CodeRuleViolated},
		{"an attestation", with("e2", "vouched", 0, true), ""},
		{"neither, repeated", with("e2", "vouched", 0, false), ""},
		{"neither, on a board without requirements", with("e3", "global", 0, false), ""},
	} {
		if o := recordOne(t, s, c.in); wire.CodeOf(o.Err) != c.want {
			t.Errorf("%s: got %v, want %q", c.name, o.Err, c.want)
		}
	}
	late := increment("alice", 5, "e1", "timed")
	late.Objection = scoreboard.Errorf(wire.CodeRuleViolated, "the action token has expired")
	if o := recordOne(t, s, late); o.Err != nil || !o.Receipts[0].Replayed {
		t.Errorf("a repeat with an expired token: got %+v, want its receipt", o)
	}
	late = increment("alice", 5, "e4")
	late.Objection = scoreboard.Errorf(wire.CodeRuleViolated, "the action token has expired")
	if o := recordOne(t, s, late); wire.CodeOf(o.Err) != wire.CodeRuleViolated {
		t.Errorf("a new event with an expired token: got %v, want rule_violated", o.Err)
	}
}

func TestUsedActionTokensAreDeleted(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for i := range 3 {
		recordOne(t, s, ending("alice", fmt.Sprint("e", i), byte(i+1)))
	}
	if n, err := s.Increments.DeleteUsedTokens(t.Context(), time.Now().Add(-time.Hour), 10); err != nil || n != 0 {
		t.Errorf("new tokens: deleted %d, %v", n, err)
	}
	if n, err := s.Increments.DeleteUsedTokens(t.Context(), time.Now().Add(time.Hour), 2); err != nil || n != 2 {
		t.Errorf("two of three: deleted %d, %v", n, err)
	}
	if n := conn.Count(t, `select count(*) from used_action_tokens`); n != 1 {
		t.Errorf("%d left, want 1", n)
	}
}

// Of actions that were started at once, one counts after each minimum duration, on
// whatever node and in whatever batch they are submitted. A late result does not delay
// the action after it.
func TestParallelActionsTakeTheirTime(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	other := storetest.Open(t, conn.URL, func(o *store.Options) {
		o.LockWait, o.Timeout = 5*time.Second, 10*time.Second
	})
	start := time.Now().Truncate(time.Millisecond)
	made := 0
	action := func(user scoreboard.UserID, began, ended time.Duration) scoreboard.Increment {
		made++
		in := ending(user, fmt.Sprint("e", made), byte(made))
		in.ActionTime = scoreboard.ActionTime{
			Started: start.Add(began), Ended: start.Add(ended), Min: 30 * time.Second,
		}
		return in
	}
	var batches [8][]scoreboard.Increment
	for i := range batches {
		for range 5 {
			batches[i] = append(batches[i], action("alice", 0, 60*time.Second))
		}
	}
	var all sync.WaitGroup
	var done atomic.Int64
	for i, batch := range batches {
		all.Go(func() {
			node := s
			if i%2 == 1 {
				node = other
			}
			out, err := node.Increments.Record(context.Background(), batch)
			if err != nil {
				t.Error(err)
			}
			for _, o := range out {
				switch code := wire.CodeOf(o.Err); code {
				case "":
					done.Add(1)
				case wire.CodeRuleViolated:
				default:
					t.Errorf("got %v", o.Err)
				}
			}
		})
	}
	all.Wait()
	if done.Load() != 2 {
		t.Errorf("40 actions of 30 s at once: %d count after 60 s, want 2", done.Load())
	}
	for _, c := range []struct {
		name         string
		began, ended time.Duration
		want         wire.Code
	}{
		{"too early", 0, 89 * time.Second, wire.CodeRuleViolated},
		{"the third", 0, 90 * time.Second, ""},
		{"later", 100 * time.Second, 150 * time.Second, ""},
		{"right after it, although its result came late", 130 * time.Second, 160 * time.Second, ""},
		{"too short after it", 130 * time.Second, 189 * time.Second, wire.CodeRuleViolated},
	} {
		if o := recordOne(t, s, action("alice", c.began, c.ended)); wire.CodeOf(o.Err) != c.want {
			t.Errorf("%s: got %v, want %q", c.name, o.Err, c.want)
		}
	}
	plain := ending("alice", "plain", 200)
	if o := recordOne(t, s, plain); o.Err != nil {
		t.Errorf("an action without a minimum: %v", o.Err)
	}
	if o := recordOne(t, s, action("alice", 130*time.Second, 189*time.Second)); o.Err == nil {
		t.Error("an event without an action made others forgotten")
	}
	if o := recordOne(t, s, action("bob", 0, 30*time.Second)); o.Err != nil {
		t.Errorf("another player: %v", o.Err)
	}
}
