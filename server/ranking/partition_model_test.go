package ranking_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// model is what a board should be.
type model map[scoreboard.UserID]scoreboard.Change

// ranked returns the users that are shown, in order.
func (m model) ranked() []scoreboard.Change {
	var list []scoreboard.Change
	for _, c := range m {
		if !c.Hidden {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b scoreboard.Change) int {
		p, q := at(&a), at(&b)
		return p.Compare(&q)
	})
	return list
}

// at is where a state ranks.
func at(c *scoreboard.Change) scoreboard.Position {
	return scoreboard.Position{Key: c.Key, SubKey: c.SubKey, ReachedAt: c.ReachedAt, User: c.User}
}

// entries are those of rows from the first to before the last.
func (c *comparison) entries(rows []scoreboard.Change, first, last int) []scoreboard.Entry {
	var list []scoreboard.Entry
	for i := max(first, 0); i < min(last, len(rows)); i++ {
		list = append(list, scoreboard.Entry{
			Rank: c.rank(rows, i), User: rows[i].User, Score: rows[i].Score, Subscore: rows[i].Subscore,
		})
	}
	return list
}

// rank is that of a row.
func (c *comparison) rank(rows []scoreboard.Change, i int) int64 {
	if c.board.SharesRanks() {
		return 1 + int64(slices.IndexFunc(rows, func(o scoreboard.Change) bool {
			return o.Key == rows[i].Key && o.SubKey == rows[i].SubKey
		}))
	}
	return 1 + int64(i)
}

// TestPartitionsAgainstModel has two processes apply random changes with many equal scores, and
// subscores, to a board in one piece or in partitions, some of which empty its merged top or move it,
// and compares every read of a third with a model. Boards with subscores are rebuilt into another
// number of partitions while they are changed.
func TestPartitionsAgainstModel(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		for _, of := range []struct {
			partitions int
			ties       scoreboard.Ties
			subscore   scoreboard.Order
		}{
			{2, "", ""},
			{2, scoreboard.TiesShared, ""},
			{5, "", ""},
			{5, scoreboard.TiesShared, ""},
			{1, "", scoreboard.OrderHighest},
			{1, scoreboard.TiesShared, scoreboard.OrderLowest},
			{3, "", scoreboard.OrderLowest},
			{3, scoreboard.TiesShared, scoreboard.OrderHighest},
		} {
			seed := rand.Uint64()
			board := divided(of.partitions)
			board.Ties, board.Subscore = of.ties, of.subscore
			t.Logf("%d partitions, ties %q, subscore %q, seed %d", of.partitions, of.ties, of.subscore, seed)
			c := comparison{
				T: t, rng: rand.New(rand.NewPCG(seed, 0)), board: board, model: make(model),
				writers: []rig{r.another(), r.another()}, reader: r.another(),
			}
			c.run(r)
			r.flush(t)
		}
	})
}

type comparison struct {
	*testing.T
	rng      *rand.Rand
	board    *scoreboard.Board
	model    model
	writers  []rig
	reader   rig
	revision int64
	rows     []scoreboard.Entry
	version  int64
	beat     time.Time
}

func (c *comparison) run(r rig) {
	var first []scoreboard.Change
	for range 260 {
		first = append(first, c.change())
	}
	r.warm(c.T, c.board, c.newest(first)...)
	for step := range 40 {
		if c.rng.IntN(4) == 0 {
			c.beat = time.Now().Truncate(time.Microsecond)
			beats := []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: c.beat}}
			if err := c.writers[c.rng.IntN(2)].RecordHeartbeats(ctx, beats); err != nil {
				c.Fatal(err)
			}
		}
		batch := make([]scoreboard.Change, 1+c.rng.IntN(4))
		if c.rng.IntN(8) == 0 {
			batch = make([]scoreboard.Change, 150)
		}
		leave := c.rng.IntN(6) == 0
		for i := range batch {
			batch[i] = c.change()
			if leave {
				batch[i].Hidden = true
			}
		}
		if leave {
			for i, row := range c.model.ranked()[:min(len(batch), len(c.model.ranked()))] {
				batch[i].User = row.User
			}
		}
		c.newest(batch)
		c.writers[c.rng.IntN(2)].apply(c.T, batch...)
		if c.board.HasSubscores() && step%10 == 5 {
			c.relayout([]int{1, 2, 4}[c.rng.IntN(3)])
		}
		c.compare()
		if c.Failed() {
			c.Fatalf("at step %d", step)
		}
	}
}

// relayout rebuilds the board into a number of partitions while both processes write, from a
// snapshot that is older than what they write.
func (c *comparison) relayout(partitions int) {
	next := *c.board
	next.Partitions = partitions
	c.writers[0].rebuild(c.T, &next, func() []scoreboard.Change {
		var states []scoreboard.Change
		for _, s := range c.model {
			states = append(states, s)
		}
		for i := range 6 {
			change := c.change()
			c.newest([]scoreboard.Change{change})
			c.writers[i%2].apply(c.T, change)
		}
		return states
	})
	c.board, c.rows, c.version = &next, nil, 0
}

func (c *comparison) change() scoreboard.Change {
	c.revision++
	user := fmt.Sprintf("user-%03d", c.rng.IntN(300))
	change := change(user, c.rng.Int64N(30), c.revision, c.rng.Int64N(3))
	change.Hidden = c.rng.IntN(10) == 0
	if c.board.HasSubscores() {
		change.Subscore = c.subscore()
		_, change.SubKey = c.board.Keys(scoreboard.Pair{Subscore: change.Subscore})
	}
	return change
}

// subscore is a random one of few, on both sides of 0.
func (c *comparison) subscore() scoreboard.Score { return scoreboard.Score(c.rng.Int64N(5) - 2) }

// newest adds changes to the model, and returns the last of each user.
func (c *comparison) newest(list []scoreboard.Change) (states []scoreboard.Change) {
	users := make(map[scoreboard.UserID]bool)
	for _, change := range list {
		c.model[change.User] = change
		users[change.User] = true
	}
	for user := range users {
		states = append(states, c.model[user])
	}
	return states
}

func (c *comparison) compare() {
	rows := c.model.ranked()
	c.compareTop(rows)
	c.comparePage(rows)
	users := []scoreboard.UserID{"nobody"}
	for _, i := range c.rng.Perm(300)[:8] {
		users = append(users, scoreboard.UserID(fmt.Sprintf("user-%03d", i)))
	}
	c.compareList(rows, users)
	c.compareRanks(rows, users)
	for _, user := range users {
		c.comparePlace(rows, user, c.rng.IntN(6))
	}
}

func (c *comparison) compareTop(rows []scoreboard.Change) {
	top, err := c.reader.Top(ctx, c.board)
	if err != nil {
		c.Fatal(err)
	}
	if want := c.entries(rows, 0, 100); !slices.Equal(top.Entries, want) || top.Total != int64(len(rows)) {
		c.Errorf("the merged top is %v of %d, want %v of %d", top.Entries, top.Total, want, len(rows))
	}
	if changed := !slices.Equal(top.Entries, c.rows); c.rows != nil && changed != (top.Version != c.version) ||
		top.Version < c.version {
		c.Errorf("version %d follows %d; the merged top has changed: %v", top.Version, c.version, changed)
	}
	c.rows, c.version = top.Entries, top.Version
	c.asOf("top", top.AsOf)
}

func (c *comparison) asOf(what string, got time.Time) {
	want := c.beat
	if want.IsZero() {
		want = board.Created
	}
	if !got.Equal(want) {
		c.Errorf("%s as of %s, want %s", what, got, want)
	}
}

func (c *comparison) comparePage(rows []scoreboard.Change) {
	of := c.change()
	of.Key -= c.rng.Int64N(2)
	after := at(&of)
	limit := 1 + c.rng.IntN(40)
	page, err := c.reader.Page(ctx, c.board, &after, limit)
	if err != nil {
		c.Fatal(err)
	}
	first := 0
	for first < len(rows) {
		if row := at(&rows[first]); row.Compare(&after) > 0 {
			break
		}
		first++
	}
	if want := c.entries(rows, first, first+limit); !slices.Equal(page.Entries, want) {
		c.Errorf("behind %+v: %v, want %v", after, page.Entries, want)
	}
	before := c.rng.IntN(20)
	around, err := c.reader.Around(ctx, c.board, &after, before, limit)
	if err != nil {
		c.Fatal(err)
	}
	if want := c.entries(rows, first-before, first+limit); !slices.Equal(around.Entries, want) {
		c.Errorf("around %+v: %v, want %v", after, around.Entries, want)
	}
	c.asOf("page", page.AsOf)
}

func index(rows []scoreboard.Change, user scoreboard.UserID) int {
	return slices.IndexFunc(rows, func(c scoreboard.Change) bool { return c.User == user })
}

func (c *comparison) compareList(rows []scoreboard.Change, users []scoreboard.UserID) {
	list, err := c.reader.List(ctx, c.board, users)
	if err != nil {
		c.Fatal(err)
	}
	var want []scoreboard.Entry
	for i := range rows {
		if slices.Contains(users, rows[i].User) {
			want = append(want, c.entries(rows, i, i+1)...)
		}
	}
	if !slices.Equal(list.Entries, want) || len(list.Entries)+len(list.Missing) != len(users) {
		c.Errorf("the list is %v without %v, want %v", list.Entries, list.Missing, want)
	}
	c.asOf("list", list.AsOf)
}

func (c *comparison) comparePlace(rows []scoreboard.Change, user scoreboard.UserID, k int) {
	p, err := c.reader.Place(ctx, c.board, user, k)
	i := index(rows, user)
	if i < 0 {
		if wire.CodeOf(err) != wire.CodeNotFound {
			c.Errorf("%s, who is not ranked: %+v, %v", user, p, err)
		}
		return
	}
	if err != nil {
		c.Fatal(err)
	}
	var near []scoreboard.Entry
	if k > 0 {
		near = c.entries(rows, i-k, i+k+1)
	}
	if p.Rank != c.rank(rows, i) || p.Score != rows[i].Score || p.Subscore != rows[i].Subscore ||
		p.Total != int64(len(rows)) ||
		p.Revision != rows[i].Revision || !slices.Equal(p.Neighbours, near) {
		c.Errorf("%s with %d beside: %+v, want #%d %+v, %v", user, k, p, c.rank(rows, i), rows[i], near)
	}
	c.asOf("place", p.AsOf)
}

// compareRanks asks also for scores and subscores that were not applied.
func (c *comparison) compareRanks(rows []scoreboard.Change, users []scoreboard.UserID) {
	pairs, want := make([]*scoreboard.Pair, len(users)), make([]int64, len(users))
	for n, user := range users {
		own := index(rows, user)
		if own >= 0 {
			want[n] = c.rank(rows, own)
		}
		if c.rng.IntN(3) == 0 {
			continue
		}
		pair := scoreboard.Pair{Score: scoreboard.Score(c.rng.Int64N(30))}
		if own >= 0 && c.rng.IntN(3) == 0 {
			pair.Score = rows[own].Score
		}
		if c.board.HasSubscores() {
			pair.Subscore = c.subscore()
		}
		pairs[n] = &pair
		if own >= 0 && pair == (scoreboard.Pair{Score: rows[own].Score, Subscore: rows[own].Subscore}) {
			continue
		}
		want[n] = 1
		for i := range rows {
			other := scoreboard.Pair{Score: rows[i].Score, Subscore: rows[i].Subscore}
			if i != own && (c.board.Better(other, pair) || other == pair && !c.board.SharesRanks()) {
				want[n]++
			}
		}
	}
	ranks, err := c.reader.Ranks(ctx, c.board, users, pairs)
	if err != nil {
		c.Fatal(err)
	}
	for n, rank := range ranks {
		if rank == nil && want[n] != 0 || rank != nil && *rank != want[n] {
			c.Errorf("the rank of %s with %v is %v, want %d", users[n], pairs[n], deref(rank), want[n])
		}
	}
}
