package ranking_test

import (
	"cmp"
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
		return cmp.Or(cmp.Compare(a.Key, b.Key), a.ReachedAt.Compare(b.ReachedAt), cmp.Compare(a.User, b.User))
	})
	return list
}

// entries are those of rows from the first to before the last.
func (c *comparison) entries(rows []scoreboard.Change, first, last int) []scoreboard.Entry {
	var list []scoreboard.Entry
	for i := max(first, 0); i < min(last, len(rows)); i++ {
		list = append(list, scoreboard.Entry{Rank: c.rank(rows, i), User: rows[i].User, Score: rows[i].Score})
	}
	return list
}

// rank is that of a row.
func (c *comparison) rank(rows []scoreboard.Change, i int) int64 {
	if c.board.SharesRanks() {
		return 1 + int64(slices.IndexFunc(rows, func(o scoreboard.Change) bool { return o.Key == rows[i].Key }))
	}
	return 1 + int64(i)
}

// TestPartitionsAgainstModel has two processes apply random changes with many equal scores to a
// board in partitions, some of which empty its merged top or move it, and compares every read of a third
// with a model.
func TestPartitionsAgainstModel(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		for i, partitions := range []int{2, 2, 5, 5} {
			seed := rand.Uint64()
			board := divided(partitions)
			if i%2 == 1 {
				board.Ties = scoreboard.TiesShared
			}
			t.Logf("%d partitions, ties %q, seed %d", partitions, board.Ties, seed)
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
		c.compare()
		if c.Failed() {
			c.Fatalf("at step %d", step)
		}
	}
}

func (c *comparison) change() scoreboard.Change {
	c.revision++
	user := fmt.Sprintf("user-%03d", c.rng.IntN(300))
	change := change(user, c.rng.Int64N(30), c.revision, c.rng.Int64N(3))
	change.Hidden = c.rng.IntN(10) == 0
	return change
}

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
	at := change(fmt.Sprintf("user-%03d", c.rng.IntN(300)), c.rng.Int64N(31), 1, c.rng.Int64N(3))
	after := scoreboard.Position{Key: at.Key, ReachedAt: at.ReachedAt, User: at.User}
	limit := 1 + c.rng.IntN(40)
	page, err := c.reader.Page(ctx, c.board, &after, limit)
	if err != nil {
		c.Fatal(err)
	}
	first := 0
	for first < len(rows) && cmp.Or(cmp.Compare(rows[first].Key, at.Key), rows[first].ReachedAt.Compare(at.ReachedAt),
		cmp.Compare(rows[first].User, at.User)) <= 0 {
		first++
	}
	if want := c.entries(rows, first, first+limit); !slices.Equal(page.Entries, want) {
		c.Errorf("behind %+v: %v, want %v", after, page.Entries, want)
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
	if p.Rank != c.rank(rows, i) || p.Score != rows[i].Score || p.Total != int64(len(rows)) ||
		p.Revision != rows[i].Revision || !slices.Equal(p.Neighbours, near) {
		c.Errorf("%s with %d beside: %+v, want #%d %+v, %v", user, k, p, c.rank(rows, i), rows[i], near)
	}
	c.asOf("place", p.AsOf)
}

// compareRanks asks also for scores that were not applied.
func (c *comparison) compareRanks(rows []scoreboard.Change, users []scoreboard.UserID) {
	scores, want := make([]*scoreboard.Score, len(users)), make([]int64, len(users))
	for n, user := range users {
		own := index(rows, user)
		if own >= 0 {
			want[n] = c.rank(rows, own)
		}
		if c.rng.IntN(3) == 0 {
			continue
		}
		score := scoreboard.Score(c.rng.Int64N(30))
		scores[n] = &score
		if own >= 0 && rows[own].Score == score {
			continue
		}
		want[n] = 1
		for i := range rows {
			if i != own && (rows[i].Score > score || rows[i].Score == score && !c.board.SharesRanks()) {
				want[n]++
			}
		}
	}
	ranks, err := c.reader.Ranks(ctx, c.board, users, scores)
	if err != nil {
		c.Fatal(err)
	}
	for n, rank := range ranks {
		if rank == nil && want[n] != 0 || rank != nil && *rank != want[n] {
			c.Errorf("the rank of %s with %v is %v, want %d", users[n], scores[n], rank, want[n])
		}
	}
}
