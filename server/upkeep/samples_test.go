package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

type freeLeases struct{}

func (freeLeases) TakeLease(context.Context, string, string, time.Duration) (bool, error) {
	return true, nil
}

func (freeLeases) ReleaseLease(context.Context, string, string) error { return nil }

// fakePastBoards has three boards that change all the time. The second one cannot be read.
type fakePastBoards struct {
	at      time.Time // the settled moment
	sampled []string
	done    map[string]bool
}

var errRead = errors.New("cannot be read")

func (m *fakePastBoards) Count(context.Context, int64) ([]scoreboard.BoardID, time.Time, error) {
	return nil, m.at, nil
}

func (m *fakePastBoards) Make(
	context.Context, scoreboard.BoardID, time.Time, func(context.Context) error,
) (int64, error) {
	return 0, nil
}

func (m *fakePastBoards) DeleteOld(context.Context, time.Duration) (int64, error) { return 0, nil }

func (m *fakePastBoards) Summarize(context.Context) error { return nil }

func sample(board scoreboard.BoardID, hour time.Time) string {
	return fmt.Sprintf("%s %s", board, hour.Format("15:04:05"))
}

func (m *fakePastBoards) Unsampled(_ context.Context, hour time.Time) (due []scoreboard.BoardID, err error) {
	for _, b := range []scoreboard.BoardID{"a", "b", "c"} {
		if !m.done[sample(b, hour)] {
			due = append(due, b)
		}
	}
	return due, nil
}

func (m *fakePastBoards) Sample(_ context.Context, board scoreboard.BoardID, hour time.Time) error {
	m.done[sample(board, hour)] = true
	if board == "b" {
		return errRead
	}
	m.sampled = append(m.sampled, sample(board, hour))
	return nil
}

// Each board is sampled once for each whole hour that is settled, and one that cannot be read does
// not keep the others from it.
func TestSamplesOncePerHour(t *testing.T) {
	t.Parallel()
	m := &fakePastBoards{done: make(map[string]bool)}
	runner := upkeep.NewRunner("x", freeLeases{}, slog.New(slog.DiscardHandler))
	w := upkeep.NewCheckpoints(upkeep.CheckpointOptions{}, m, runner)
	for i, step := range []struct {
		at     string
		failed bool
		want   []string // beyond those before
	}{
		{"17:59:59.999999", true, []string{"a 17:00:00"}},
		{"17:59:59.999999", false, []string{"c 17:00:00"}},
		{"17:59:59.999999", false, nil},
		{"18:00:00", true, []string{"a 18:00:00"}},
		{"18:00:10", false, []string{"c 18:00:00"}},
		{"18:59:00", false, nil},
	} {
		at, err := time.Parse(time.DateTime, "2026-01-30 "+step.at)
		if err != nil {
			t.Fatal(err)
		}
		m.at = at
		before := len(m.sampled)
		if err := w.Once(t.Context()); errors.Is(err, errRead) != step.failed || err != nil && !step.failed {
			t.Errorf("run %d: %v, want a failure: %t", i, err, step.failed)
		}
		if got := m.sampled[before:]; !slices.Equal(got, step.want) {
			t.Errorf("run %d sampled %v, want %v", i, got, step.want)
		}
	}
}
