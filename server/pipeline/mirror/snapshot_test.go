package mirror_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/mirror"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// states are the states of the users on a board.
type states []scoreboard.Change

func (s states) Standings(
	_ context.Context, _ scoreboard.BoardID, _ int, do func([]scoreboard.Change) error,
) (time.Time, error) {
	for i := range s {
		if err := do(slices.Clone(s[i : i+1])); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}

// writtenAtLast is a Written that fails at first.
type writtenAtLast struct{ done, failed atomic.Bool }

func (m *writtenAtLast) Done(context.Context) (bool, error) {
	if !m.failed.Swap(true) {
		return false, errAway
	}
	return m.done.Load(), nil
}

func (m *writtenAtLast) Set(context.Context) error {
	m.done.Store(true)
	return nil
}

// The first start writes the scores from before, also if a backend is away at first, and
// the next start does not. Hidden users have the score 0, as in every change; erased ones
// are not in it.
func TestFirstStartWritesASnapshot(t *testing.T) {
	t.Parallel()
	banned, anonymous := change("plain", "2", 9), change("plain", "erased-abc", 1)
	erased := change("plain", "4", 7)
	banned.Hidden, anonymous.Hidden, erased.Hidden, erased.Version = true, true, true, 0
	before := states{change("plain", "1", 4), banned, anonymous, erased, change("plain", "3", 2)}
	feed := func(s *sink, m *writtenAtLast) *mirror.Mirror {
		idle := source{paused: make(chan map[int]int64, 1)}
		return mirror.New([]mirror.Feed{{
			Name: "plain", Board: "plain", Sources: []mirror.Source{idle}, Sink: s,
			Snapshot: &mirror.Snapshot{Standings: before, Written: m},
		}}, quiet)
	}
	first, written := &sink{broken: true, accepts: 0}, &writtenAtLast{}
	backends.Run(t, feed(first, written).Run)
	time.Sleep(50 * time.Millisecond)
	if written.done.Load() {
		t.Error("the snapshot is marked as written, and the backend is away")
	}
	first.repair()
	await(t, "the snapshot", written.done.Load)
	want := []string{"plain/1/4=4", "plain/2/9=0", "plain/3/2=2"}
	if got := first.written(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	second := &sink{}
	backends.Run(t, feed(second, written).Run)
	time.Sleep(50 * time.Millisecond)
	if got := second.written(); len(got) > 0 {
		t.Errorf("the second start wrote %q", got)
	}
}

func TestRedisMark(t *testing.T) {
	t.Parallel()
	rdb := backends.RedisClient(t, backends.Redis(t))
	for output, want := range map[string]bool{"a": true, "b": false} {
		m := mirror.NewRedisWritten(rdb, backends.Prefix(t)+output)
		if want {
			if err := m.Set(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if done, err := m.Done(t.Context()); err != nil || done != want {
			t.Errorf("%s: got %v, %v, want %v", output, done, err, want)
		}
	}
}
