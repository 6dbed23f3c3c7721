package scoreboard

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/client/wire"
)

func pairBoard(mode Mode, order, subscore Order) *Board {
	return &Board{
		ID: "b", Family: "b", Mode: mode, Order: order, Subscore: subscore, MinDelta: -10, MaxDelta: 10,
		MinScore: -MaxScore, MaxScore: MaxScore, MinSubscore: -5, MaxSubscore: 5,
	}
}

// The keys order pairs as Better does, and lead back to them.
func TestKeysOrderPairs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		orders := rapid.SampledFrom([]Order{OrderHighest, OrderLowest})
		b := pairBoard(ModeBest, orders.Draw(t, "order"), orders.Draw(t, "subscore"))
		draw := func(name string) Pair {
			n := rapid.SampledFrom([]Score{-MaxScore, -1, 0, 1, MaxScore})
			return Pair{n.Draw(t, name), n.Draw(t, name+"'s subscore")}
		}
		p, q := draw("p"), draw("q")
		key, subKey := b.Keys(p)
		if back := b.Pair(key, subKey); back != p {
			t.Fatalf("%+v came back as %+v", p, back)
		}
		want := p.Score != q.Score && (p.Score > q.Score) == (b.Order == OrderHighest) ||
			p.Score == q.Score && p.Subscore != q.Subscore && (p.Subscore > q.Subscore) == (b.Subscore == OrderHighest)
		at, other := b.PositionOf(p, time.Unix(2, 0), "a"), b.PositionOf(q, time.Unix(1, 0), "b")
		if b.Better(p, q) != want || p != q && (at.Compare(&other) < 0) != want {
			t.Fatalf("%+v ahead of %+v: %t, want %t", p, q, b.Better(p, q), want)
		}
	})
}

func TestPairAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		board               *Board
		previous, submitted Pair
		had                 bool
		want                Pair
	}{
		"increment adds both": {
			pairBoard(ModeIncrement, OrderHighest, OrderHighest), Pair{3, -1}, Pair{2, 4}, true, Pair{5, 3},
		},
		"best keeps the better pair": {
			pairBoard(ModeBest, OrderHighest, OrderLowest), Pair{3, 1}, Pair{3, 2}, true, Pair{3, 1},
		},
		"best takes a better subscore": {
			pairBoard(ModeBest, OrderHighest, OrderLowest), Pair{3, 2}, Pair{3, 1}, true, Pair{3, 1},
		},
		"best takes a better score with a worse subscore": {
			pairBoard(ModeBest, OrderLowest, OrderHighest), Pair{3, 9}, Pair{2, 0}, true, Pair{2, 0},
		},
		"latest takes the last": {
			pairBoard(ModeLatest, OrderHighest, OrderHighest), Pair{9, 9}, Pair{1, 1}, true, Pair{1, 1},
		},
		"no subscores": {pairBoard(ModeLatest, OrderHighest, ""), Pair{9, 0}, Pair{1, 1}, true, Pair{1, 0}},
		"the first":    {pairBoard(ModeBest, OrderHighest, OrderHighest), Pair{}, Pair{-1, -1}, false, Pair{-1, -1}},
	} {
		if got := c.board.PairAfter(c.previous, c.had, c.submitted); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestBoundsOfSubscores(t *testing.T) {
	t.Parallel()
	b, plain := pairBoard(ModeIncrement, OrderHighest, OrderHighest), pairBoard(ModeIncrement, OrderHighest, "")
	for name, c := range map[string]struct {
		board    *Board
		delta    int64
		subscore *Score
		want     wire.Code
	}{
		"within":                   {b, 1, new(Score(5)), ""},
		"none counts as 0":         {b, 1, nil, ""},
		"above":                    {b, 1, new(Score(6)), wire.CodeDeltaOutOfRange},
		"below":                    {b, 1, new(Score(-6)), wire.CodeDeltaOutOfRange},
		"a delta of 0":             {b, 0, new(Score(1)), ""},
		"nothing":                  {b, 0, new(Score(0)), wire.CodeInvalidRequest},
		"0 without a subscore":     {b, 0, nil, wire.CodeInvalidRequest},
		"0 on a board without any": {plain, 0, new(Score(1)), wire.CodeInvalidRequest},
	} {
		if got := wire.CodeOf(c.board.CheckDelta(c.delta, c.subscore)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if _, err := b.Next(Pair{0, MaxScore}, true, Pair{0, 1}); wire.CodeOf(err) != wire.CodeScoreOutOfRange {
		t.Errorf("a sum beyond the bounds: %v", err)
	}
	if err := (&Increment{Subscore: new(Score(0))}).CheckSubscores([]*Board{plain}); wire.CodeOf(err) !=
		wire.CodeInvalidRequest {
		t.Errorf("a subscore that no board takes: %v", err)
	}
	if err := (&Increment{Subscore: new(Score(0))}).CheckSubscores([]*Board{plain, b}); err != nil {
		t.Errorf("a subscore that one board takes: %v", err)
	}
	changed, err := (&BoundsChange{MinSubscore: new(int64(-9))}).Apply(b)
	if err != nil || !changed || b.MinSubscore != -9 {
		t.Errorf("a change of the bounds: %t, %v, %d", changed, err, b.MinSubscore)
	}
	for name, c := range map[string]struct {
		board  Board
		change BoundsChange
	}{
		"no subscores": {*plain, BoundsChange{MaxSubscore: new(int64(9))}},
		"reversed":     {*b, BoundsChange{MinSubscore: new(int64(6))}},
		"too large":    {*b, BoundsChange{MaxSubscore: new(int64(1 << 53))}},
	} {
		if name == "no subscores" {
			c.board.MinSubscore, c.board.MaxSubscore = 0, 0
		}
		if _, err := c.change.Apply(&c.board); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%s: %v, want %s", name, err, wire.CodeInvalidRequest)
		}
	}
}

// A hash has the subscore only where one is sent, so that hashes of other events stay what they are.
func TestPayloadHashOfSubscore(t *testing.T) {
	t.Parallel()
	in := Increment{User: "ada", Delta: 1, Boards: []BoardID{"b"}}
	seen := map[[16]byte]string{in.PayloadHash(): "none"}
	for name, subscore := range map[string]Score{"0": 0, "1": 1, "-1": -1} {
		in.Subscore = &subscore
		if other, again := seen[in.PayloadHash()]; again {
			t.Errorf("subscore %s has the hash of %s", name, other)
		}
		seen[in.PayloadHash()] = name
	}
}

func TestCursorOfSubscore(t *testing.T) {
	t.Parallel()
	for _, subKey := range []int64{0, 1, -1, MaxScore, -MaxScore} {
		c := PageCursor{Board: "b", Position: Position{
			Key: -7, SubKey: subKey, ReachedAt: time.UnixMicro(1234567).UTC(), User: "ada",
		}}
		b := c.Append(nil)
		got, ok := ParsePageCursor(b)
		if !ok || got != c {
			t.Errorf("got %+v, %t, want %+v", got, ok, c)
		}
		for n := range b[:len(b)-len("adab")] {
			if _, ok := ParsePageCursor(b[:n]); ok {
				t.Errorf("the first %d of %d bytes are a cursor", n, len(b))
			}
		}
	}
}

func TestLeafOfSubscore(t *testing.T) {
	t.Parallel()
	s := FinalStanding{Entry: Entry{Rank: 1, User: "ada", Score: 3, Subscore: 2}, ReachedAt: time.Unix(0, 0), Salt: "s"}
	plain, b := pairBoard(ModeBest, OrderHighest, ""), pairBoard(ModeBest, OrderHighest, OrderHighest)
	other := s
	other.Subscore = 1
	if s.HashLeaf(b) == other.HashLeaf(b) || s.HashLeaf(b) == s.HashLeaf(plain) ||
		s.HashLeaf(plain) != other.HashLeaf(plain) {
		t.Error("the leaf does not cover the subscore, or not only on boards with subscores")
	}
	if plain.SealVersion() != StandingsVersion || b.SealVersion() != SubscoreStandingsVersion {
		t.Errorf("got the formats %d and %d", plain.SealVersion(), b.SealVersion())
	}
}

func TestRuleOfSubscores(t *testing.T) {
	t.Parallel()
	rules, err := ParseRules([]string{"win:0:3;sub=-2:8", "any:0:3"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		action   string
		subscore *Score
		want     wire.Code
	}{
		"within": {"win", new(Score(8)), ""}, "none": {"win", nil, ""},
		"above":     {"win", new(Score(9)), wire.CodeDeltaOutOfRange},
		"below":     {"win", new(Score(-3)), wire.CodeDeltaOutOfRange},
		"no bounds": {"any", new(Score(99)), ""},
	} {
		in := Increment{Delta: 1, Action: c.action, Subscore: c.subscore}
		if got := wire.CodeOf(rules.Of(c.action).Check(&in, time.Now(), nil)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, text := range []string{"sub=", "sub=1", "sub=2:1", "sub=0:0", "sub=a:1"} {
		_, err := ParseRules([]string{"win:0:3;" + text})
		if err == nil || !strings.Contains(err.Error(), "invalid sub") {
			t.Errorf("%s: %v", text, err)
		}
	}
	in := Increment{Delta: 1, Action: "win", Boards: []BoardID{"b"}, Subscore: new(Score(2))}
	past := []PastAction{{Delta: 1, Subscore: 1, Boards: []BoardID{"b"}, At: time.Now()}}
	rule := Rule{MaxDelta: 1, Once: time.Minute}
	if err := rule.Check(&in, time.Now(), past); err != nil {
		t.Errorf("another subscore is a repeat: %v", err)
	}
	past[0].Subscore = 2
	if err := rule.Check(&in, time.Now(), past); err == nil {
		t.Error("the same subscore is no repeat")
	}
}
