package tui

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// operating is a screen of an operator, with something in every queue.
func operating(t *testing.T, width, height int) *screen {
	t.Helper()
	s := newScreen(t, width, height, plain)
	s.o.Flags = func(context.Context) ([]client.Flag, error) {
		return []client.Flag{{
			ID: 7, State: "open", Rule: "travel", UserID: "bob", Board: "global", Delta: 500, Detail: "two countries",
			LastAt: start.Add(-3 * time.Minute),
		}}, nil
	}
	s.o.Jobs = func(context.Context) ([]client.Job, error) {
		ended := start.Add(-time.Minute)
		return []client.Job{
			{
				JobID: 12, Kind: "rebuild", Target: "board:global", State: "running", Who: "olga", Reason: "drift",
				StartedAt: start.Add(-40 * time.Second), Line: &client.JobLine{Users: 250, Total: 1000},
			},
			{
				JobID: 11, Kind: "verify", Target: "board:*", State: "failed", Who: "olga",
				StartedAt: start.Add(-2 * time.Minute), EndedAt: &ended,
				Line: &client.JobLine{Error: &wire.Error{Message: "\x1b[31mRedis does not answer"}},
			},
		}, nil
	}
	s.o.DeadLetters = func(context.Context) ([]client.DeadLetter, error) { return nil, nil }
	busy(s)
	s.operator = true
	return s
}

// One key each shows flags, jobs and dead letters: what they are about, and the command that acts on them.
func TestQueuesOfOperators(t *testing.T) {
	s := operating(t, 120, 40)
	var copied string
	s.o.Copy = func(text string) error { copied = text; return nil }
	cmd := s.keys("f")
	s.contains("open flags", "loading")
	s.run(cmd)
	s.contains("travel  bob on global, +500, 3 min ago", "two countries", "sbctl flag confirm 7", "player")
	s.run(s.keys("y"))
	if copied != "sbctl flag confirm 7" {
		t.Errorf("copied %q, want the command", copied)
	}
	s.run(s.keys("J")) // from one queue to the next
	s.contains("running  rebuild of board:global by olga, for 40 s, 25 %", "drift", "sbctl job stop 12")
	s.keys("down")
	s.contains("failed", "took 60 s", "[31mRedis does not answer")
	s.lacks("sbctl job stop")
	s.run(s.keys("d"))
	s.contains("dead letters", "every record could be processed")
	s.keys("down", "enter", "y") // nothing to act on
	s.keys("d")
	s.lacks("every record could be processed")

	s.run(s.keys("f"))
	s.keys("enter")
	if s.queue != nil || s.player == nil || s.player.user != "bob" {
		t.Error("enter on a flag does not open the player")
	}
}

// The selection stays on its row while rows come and go, and the last ones stay while the server is silent.
func TestQueueKeepsTheSelection(t *testing.T) {
	s := operating(t, 80, 24)
	ids := []int64{1, 2, 3}
	var down error
	s.o.DeadLetters = func(context.Context) (all []client.DeadLetter, err error) {
		for _, id := range ids {
			all = append(all, client.DeadLetter{
				ID: id, Topic: "t", Attempts: 1, DeadLetteredAt: start, Reason: "no board",
			})
		}
		return all, down
	}
	s.run(s.keys("d"))
	s.keys("down", "down")
	s.contains("sbctl dlq requeue 3", "1 attempt ")
	ids = []int64{2, 3, 4}
	s.run(s.handle(readQueueMsg{letterQueue}))
	s.contains("sbctl dlq requeue 3")
	ids, down = nil, errors.New("no answer")
	s.run(s.handle(readQueueMsg{letterQueue}))
	s.contains("sbctl dlq requeue 3", "no answer")
	down = nil
	s.run(s.handle(readQueueMsg{letterQueue}))
	s.contains("every record could be processed")
	s.keys("esc")
	if cmd := s.handle(readQueueMsg{letterQueue}); cmd != nil {
		t.Error("a closed queue is read")
	}
}

// Who is no operator is told what the queues need, and a playback has none.
func TestQueuesNeedAnOperator(t *testing.T) {
	s := operating(t, 120, 40)
	s.operator = false
	if cmd := s.keys("f"); cmd != nil {
		t.Error("the flags are read")
	}
	s.contains("the open flags need a token with the scope score:operate")
	s.operator = true
	s.o.Playback = &Playback{}
	if cmd := s.keys("f"); cmd != nil || s.queue != nil {
		t.Error("a playback opens a queue")
	}
}
