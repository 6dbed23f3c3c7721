package verify

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
)

func TestPlaceCorrect(t *testing.T) {
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
		if got := placeCorrect(
			wire.Place{Score: c.claimed, Rank: c.rank}, c.score, scores, c.others,
		); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestTopCorrect(t *testing.T) {
	t.Parallel()
	want := map[string]int64{"a": 30, "b": 20, "c": 20, "d": 10}
	row := func(rank int64, user string, score int64) wire.Entry {
		return wire.Entry{Rank: rank, UserID: user, Score: score}
	}
	for name, c := range map[string]struct {
		rows []wire.Entry
		want float64
	}{
		"correct": {[]wire.Entry{row(1, "a", 30), row(2, "c", 20), row(3, "b", 20), row(4, "d", 10)}, 100},
		"with others": {[]wire.Entry{
			row(1, "x", 99), row(2, "a", 30), row(3, "c", 20), row(4, "b", 20), row(5, "d", 10),
		}, 100},
		"wrong score": {[]wire.Entry{row(1, "a", 31), row(2, "c", 20), row(3, "b", 20), row(4, "d", 10)}, 75},
		"wrong rank":  {[]wire.Entry{row(1, "a", 30), row(2, "c", 20), row(2, "b", 20), row(4, "d", 10)}, 75},
		"unordered":   {[]wire.Entry{row(1, "a", 30), row(2, "d", 10), row(3, "b", 20), row(4, "c", 20)}, 75},
		"duplicate": {[]wire.Entry{
			row(1, "a", 30), row(2, "b", 20), row(3, "b", 20), row(4, "c", 20), row(5, "d", 10),
		}, 80},
		"missing": {[]wire.Entry{row(1, "a", 30), row(2, "b", 20), row(3, "c", 20)}, 75},
		"empty":   {nil, 0},
	} {
		if got := topCorrect(c.rows, 100, want); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
