package scoreboard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestTopAfter(t *testing.T) {
	t.Parallel()
	at := func(second int64) time.Time { return time.Unix(second, 0).UTC() }
	row := func(rank int64, user scoreboard.UserID, score scoreboard.Score) scoreboard.Entry {
		return scoreboard.Entry{Rank: rank, User: user, Score: score}
	}
	before := scoreboard.Top{
		Version: 7, AsOf: at(50), Entries: []scoreboard.Entry{row(1, "a", 9), row(2, "b", 5), row(3, "c", 4)},
		Reached: []time.Time{at(1), at(2), at(3)},
	}
	moved := []scoreboard.Moved{{User: "c", ReachedAt: at(40)}, {User: "z", ReachedAt: at(41)}}
	now := []scoreboard.Entry{row(1, "a", 9), row(2, "c", 6), row(3, "b", 5)}
	for _, c := range []struct {
		name    string
		version int64
		rows    []scoreboard.Entry
		moved   []scoreboard.Moved
		before  func(*scoreboard.Top)
		want    []time.Time
	}{
		{"one moved", 8, now, moved, nil, []time.Time{at(1), at(40), at(2)}},
		{"a row less", 8, now[:2], moved, nil, []time.Time{at(1), at(40)}},
		{"a version was missed", 9, now, moved, nil, nil},
		{"the move is unknown", 8, now, moved[1:], nil, nil},
		{"the time is unknown", 8, now, []scoreboard.Moved{{User: "c"}}, nil, nil},
		{"a new row", 8, append(slices.Clone(now), row(4, "d", 1)), moved, nil, nil},
		{"unknown before", 8, now, moved, func(t *scoreboard.Top) { t.Reached = nil }, nil},
	} {
		was := before
		if c.before != nil {
			c.before(&was)
		}
		top := &scoreboard.Top{Version: c.version, AsOf: at(45), Entries: c.rows}
		got := top.After(&was, c.moved)
		if !slices.Equal(got.Reached, c.want) || !got.AsOf.Equal(at(50)) || top.Reached != nil {
			t.Errorf("%s: got %v as of %s, want %v as of %s", c.name, got.Reached, got.AsOf, c.want, at(50))
		}
	}
	read := &scoreboard.Top{Version: 9, AsOf: at(60), Entries: now, Reached: []time.Time{at(4), at(5), at(6)}}
	if got := read.After(&before, nil); !slices.Equal(got.Reached, read.Reached) || !got.AsOf.Equal(at(60)) {
		t.Errorf("a read: got %v as of %s, want its own times", got.Reached, got.AsOf)
	}
}
