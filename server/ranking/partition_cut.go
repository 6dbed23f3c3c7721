package ranking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// row is a row of a sorted set.
type row struct {
	key    int64
	member string
}

// compareRows is the order of the sorted set.
func compareRows(a, b row) int {
	if a.key != b.key {
		if a.key < b.key {
			return -1
		}
		return 1
	}
	return strings.Compare(a.member, b.member)
}

// position is a place among the rows; without a member, behind all rows of the key.
type position struct {
	key    int64
	member string
}

// question is what is asked of every partition at once.
type question struct {
	before, from int                   // rows on both sides of the first position; from the start without one
	positions    []position            // to count the members up to
	users        [][]scoreboard.UserID // whose states to return, by partition; nil: none
}

// partition is what a partition answered.
type partition struct {
	basis
	epoch, seq, updated, total int64
	upTo                       []int64
	states                     []string
	rows                       []row
}

// boardHead is what the head of a board holds.
type boardHead struct {
	basis
	epoch, version, updated int64
	order                   scoreboard.Order
	of                      int     // partitions
	seqs                    []int64 // nil: no rows were merged yet
	rows                    string
}

// cut is the answers of all partitions, read at once: each is of one moment of its partition.
type cut struct {
	head  *boardHead // nil: not loaded
	parts []*partition
	beats map[int]string // of the servers, by bucket: as in freshness
}

// complete reports whether the head is of as many partitions, and all of them are loaded.
func (c *cut) complete() bool {
	return c.head != nil && c.head.of == len(c.parts) && !slices.Contains(c.parts, nil)
}

// sameEpoch reports whether a complete cut is of one epoch; false while a rebuild swaps
// partitions in.
func (c *cut) sameEpoch() bool {
	for _, p := range c.parts {
		if p.epoch != c.head.epoch {
			return false
		}
	}
	return true
}

// seqs returns the sequences of the partitions.
func (c *cut) seqs() []int64 {
	list := make([]int64, len(c.parts))
	for i, p := range c.parts {
		list[i] = p.seq
	}
	return list
}

// total is how many users are ranked.
func (c *cut) total() (n int64) {
	for _, p := range c.parts {
		n += p.total
	}
	return n
}

// upTo is how many members are at position i or before it.
func (c *cut) upTo(i int) (n int64) {
	for _, p := range c.parts {
		n += p.upTo[i]
	}
	return n
}

// rows returns the rows of all partitions in order.
func (c *cut) rows() []row {
	var all []row
	for _, p := range c.parts {
		all = append(all, p.rows...)
	}
	slices.SortFunc(all, compareRows)
	return all
}

// dominates reports whether no element of a is less than that of b. A nil b is dominated by
// everything.
func dominates(a, b []int64) bool {
	for i := range b {
		if i >= len(a) || a[i] < b[i] {
			return false
		}
	}
	return true
}

// readAttempts bounds how often a board in partitions is read again where the answers do not
// fit together: a rebuild swaps partitions in, or a user's standing changed between two calls.
const readAttempts = 6

// readPause is how long the first repeated read waits; each further one waits twice as long.
const readPause = time.Millisecond

// ask asks every partition and the head, in one round trip to each server.
func (r *Ranking) ask(ctx context.Context, l layout, q *question) (*cut, error) {
	args := []any{q.before, q.from, len(q.positions)}
	for _, p := range q.positions {
		args = append(args, strconv.FormatInt(p.key, 10), p.member)
	}
	answers := make([]*redis.Cmd, l.count)
	beats := make(map[int]*redis.Cmd, l.count+1)
	var head *redis.Cmd
	err := r.pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		clear(beats) // of the first attempt
		for _, name := range append(l.parts(), l.board) {
			if bucket := r.keys.bucket(name); beats[bucket] == nil {
				beats[bucket] = run(r.beat, []string{r.keys.fresh(bucket)})
			}
		}
		head = run(r.head, []string{r.keys.head(l.board)})
		for i := range answers {
			own := args
			if q.users != nil {
				own = slices.Clone(args)
				for _, user := range q.users[i] {
					own = append(own, string(user))
				}
			}
			answers[i] = run(r.part, r.keys.live(l.part(i)), own...)
		}
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	c := &cut{parts: make([]*partition, l.count), beats: make(map[int]string, len(beats))}
	for bucket, beat := range beats {
		if c.beats[bucket], err = beat.Text(); err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
	}
	if c.head, err = parseHead(head); err != nil {
		return nil, err
	}
	for i, answer := range answers {
		users := 0
		if q.users != nil {
			users = len(q.users[i])
		}
		if c.parts[i], err = parsePartition(answer, len(q.positions), users); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func parseHead(answer *redis.Cmd) (*boardHead, error) {
	values, err := answer.Slice()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reply := &reply{values: values}
	h := &boardHead{basis: reply.basis()}
	h.epoch, h.version, h.updated = reply.int(0), reply.int(1), reply.int(2)
	h.order = scoreboard.Order(reply.string(3))
	h.of = int(reply.int(4))
	if text, merged := reply.values[5].(string); merged {
		if h.seqs, err = parseSequences(text); err != nil {
			return nil, err
		}
		h.rows = reply.string(6)
	}
	return h, reply.err
}

func parsePartition(answer *redis.Cmd, positions, users int) (*partition, error) {
	values, err := answer.Slice()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reply := &reply{values: values}
	p := &partition{basis: reply.basis()}
	p.epoch, p.seq, p.updated, p.total = reply.int(0), reply.int(1), reply.int(2), reply.int(3)
	at := 4
	for range positions {
		p.upTo = append(p.upTo, reply.int(at))
		at++
	}
	for range users {
		p.states = append(p.states, reply.string(at))
		at++
	}
	for ; at+1 < len(reply.values); at += 2 {
		key, err := parseKey(reply.string(at + 1))
		if err != nil {
			return nil, err
		}
		member := reply.string(at)
		if len(member) <= prefixLength {
			return nil, fmt.Errorf("read a row: the member %q is too short", member)
		}
		p.rows = append(p.rows, row{key, member})
	}
	return p, reply.err
}

func parseSequences(text string) ([]int64, error) {
	fields := strings.Fields(text)
	seqs := make([]int64, len(fields))
	for i, field := range fields {
		var err error
		if seqs[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return nil, fmt.Errorf("read the sequences of partitions: %w", err)
		}
	}
	return seqs, nil
}

// snapshot is a cut that fits together, and how fresh it is.
type snapshot struct {
	*cut
	asOf  time.Time
	state scoreboard.BoardState
}

// readCut asks until head and partitions are of one epoch, and the partitions include what
// the head does; scoreboard.ErrNotLoaded if one is missing, or they do not come to fit.
func (r *Ranking) readCut(ctx context.Context, l layout, q *question) (*snapshot, error) {
	names := append(l.parts(), l.board)
	for attempt := range readAttempts {
		fresh := r.freshness(ctx, names) // first, so that it claims nothing that the answers miss
		c, err := r.ask(ctx, l, q)
		if err != nil {
			r.forget() // the next server to answer may hold an older state
			return nil, translate(err)
		}
		if !c.complete() {
			return nil, scoreboard.ErrNotLoaded
		}
		s := &snapshot{cut: c, state: scoreboard.StateHealthy}
		fits := c.sameEpoch() && c.head.seqs != nil
		for i, name := range names {
			if bucket := r.keys.bucket(name); fresh[i].beat != c.beats[bucket] {
				// A heartbeat has come since, or another server has answered, which may be behind.
				fits = false
				r.known[bucket].Store(nil)
			}
		}
		if fits && !dominates(c.seqs(), c.head.seqs) {
			// Read while it was merged; or a partition went back: its server then is
			// another one, which as_of takes into account.
			fits, s.state = attempt == readAttempts-1, scoreboard.StateCatchingUp
		}
		if fits {
			return s, s.evaluate(fresh)
		}
		select {
		case <-time.After(readPause << attempt):
		case <-ctx.Done():
			return nil, translate(ctx.Err())
		}
	}
	return nil, scoreboard.ErrNotLoaded
}

// evaluate sets the oldest time, and the worst state, of the partitions and the head.
func (s *snapshot) evaluate(fresh []*freshness) error {
	bases := make([]*basis, 0, len(fresh))
	for _, p := range s.parts {
		bases = append(bases, &p.basis)
	}
	for i, b := range append(bases, &s.head.basis) {
		asOf, state, err := fresh[i].evaluate(b)
		if err != nil {
			return err
		}
		if s.asOf.IsZero() || asOf.Before(s.asOf) {
			s.asOf = asOf
		}
		if state != scoreboard.StateHealthy {
			s.state = state
		}
	}
	return nil
}
