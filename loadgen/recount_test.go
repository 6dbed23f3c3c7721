package loadgen

import (
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

func TestPlacesAndTopsAreRecounted(t *testing.T) {
	t.Parallel()
	scores := []int64{10, 20, 20, 30}
	for _, c := range []struct {
		score, claimed, rank, others int64
		want                         bool
	}{
		{30, 30, 1, 0, true},
		{30, 30, 2, 0, false},
		{30, 31, 1, 0, false},
		{30, 30, 2, 1, true},
		{20, 20, 2, 0, true},
		{20, 20, 3, 0, true},
		{20, 20, 4, 0, false},
		{20, 20, 1, 5, false},
		{10, 10, 4, 0, true},
		{10, 10, 5, 0, false},
	} {
		if got := placeCorrect(protocol.Place{Score: c.claimed, Rank: c.rank}, c.score, scores, c.others); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	want := map[string]int64{"a": 30, "b": 20, "c": 20, "d": 10}
	row := func(rank int64, user string, score int64) protocol.Entry {
		return protocol.Entry{Rank: rank, UserID: user, Score: score}
	}
	for name, c := range map[string]struct {
		rows []protocol.Entry
		want float64
	}{
		"right":       {[]protocol.Entry{row(1, "a", 30), row(2, "c", 20), row(3, "b", 20), row(4, "d", 10)}, 100},
		"with others": {[]protocol.Entry{row(1, "x", 99), row(2, "a", 30), row(3, "c", 20), row(4, "b", 20), row(5, "d", 10)}, 100},
		"wrong score": {[]protocol.Entry{row(1, "a", 31), row(2, "c", 20), row(3, "b", 20), row(4, "d", 10)}, 75},
		"wrong rank":  {[]protocol.Entry{row(1, "a", 30), row(2, "c", 20), row(2, "b", 20), row(4, "d", 10)}, 75},
		"disorder":    {[]protocol.Entry{row(1, "a", 30), row(2, "d", 10), row(3, "b", 20), row(4, "c", 20)}, 75},
		"twice":       {[]protocol.Entry{row(1, "a", 30), row(2, "b", 20), row(3, "b", 20), row(4, "c", 20), row(5, "d", 10)}, 80},
		"left out":    {[]protocol.Entry{row(1, "a", 30), row(2, "b", 20), row(3, "c", 20)}, 75},
		"empty":       {nil, 0},
	} {
		if got := topCorrect(protocol.Top{Entries: c.rows}, want); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// A sight may come before the receipt that tells of its score.
func TestSights(t *testing.T) {
	t.Parallel()
	var took []time.Duration
	s := newSights([]string{"p"}, func(_ time.Time, d time.Duration) { took = append(took, d) })
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	see := func(score int64, ms int) {
		s.observe([]protocol.Entry{{UserID: "x", Score: 999}, {UserID: "p", Score: score}}, at(ms))
	}
	s.committed("p", 1, at(0))
	s.committed("p", 2, at(10))
	see(2, 100) // both at once
	see(2, 150) // nothing new
	see(4, 200)
	s.committed("p", 3, at(120)) // was seen at 200
	see(1, 250)                  // a stale frame shows nothing
	s.committed("p", 5, at(205))
	s.committed("p", 6, at(210))
	see(5, 255) // the second is still to come
	if s.waiting() != 1 {
		t.Errorf("got %d waiting", s.waiting())
	}
	s.close(at(1210))
	want := []time.Duration{100 * time.Millisecond, 90 * time.Millisecond, 80 * time.Millisecond, 50 * time.Millisecond, time.Second}
	if !slices.Equal(took, want) || s.waiting() != 0 {
		t.Errorf("got %v, want %v", took, want)
	}
}
