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

// sought is a position to count the rows up to, and how many rows to return on both sides of it.
type sought struct {
	at           *position // nil: before all rows
	before, from int
}

// question is what is asked of every partition at once.
type question struct {
	sought []sought
	users  [][]scoreboard.UserID // whose states to return, by partition; nil: none
}

// partition is what a partition answered.
type partition struct {
	basis
	fresh                      *freshness
	epoch, seq, updated, total int64
	upTo                       []int64 // by sought
	states                     []string
	rows                       [][]row // by sought
}

// boardHead is what the head of a board holds.
type boardHead struct {
	basis
	fresh                   *freshness
	epoch, version, updated int64
	order                   scoreboard.Order
	of                      int     // partitions
	seqs                    []int64 // nil: no rows were merged yet
	rows                    string
}

// cut is the head, and the answers of all partitions, read at once after it: each is of one
// moment of its partition. Freshness is of the same moment as what it comes with.
type cut struct {
	head  *boardHead // nil: not loaded
	parts []*partition
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

// upTo is how many members are at what was sought or before it.
func (c *cut) upTo(i int) (n int64) {
	for _, p := range c.parts {
		n += p.upTo[i]
	}
	return n
}

// rows returns the rows of all partitions around what was sought, in order.
func (c *cut) rows(i int) []row {
	var all []row
	for _, p := range c.parts {
		all = append(all, p.rows[i]...)
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

// partitions reads boards in partitions, and merges their heads.
type partitions struct {
	*conn
	layouts           *layouts
	pieces            *pieces
	part, head, merge *redis.Script
	lookups           lookups
}

func newPartitions(c *conn, of *layouts, p *pieces) *partitions {
	return &partitions{
		conn: c, layouts: of, pieces: p,
		part:    redis.NewScript(luaSearch + luaPart),
		head:    redis.NewScript(luaHead),
		merge:   redis.NewScript(luaMerge),
		lookups: lookups{waiting: make(map[layout][]*lookup)},
	}
}

// ask reads the head, then asks every partition.
func (r *partitions) ask(ctx context.Context, l layout, q *question) (*cut, error) {
	head, _, err := r.askHead(ctx, l, nil)
	if err != nil {
		return nil, err
	}
	return r.askParts(ctx, l, head, q)
}

// askHead reads the head, and the states of users from the partitions that have any: those
// of partitions that are not loaded are missing.
func (r *partitions) askHead(
	ctx context.Context, l layout, mine [][]scoreboard.UserID,
) (head *boardHead, states []*partition, err error) {
	var answer *redis.Cmd
	answers := make([]*redis.Cmd, len(mine))
	err = r.pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		answer = run(r.head, []string{r.keys.head(l.board), r.keys.fresh(r.keys.bucket(l.board))})
		for i, users := range mine {
			if len(users) > 0 {
				answers[i] = run(r.part, r.partKeys(l, i), partArguments(false, nil, users)...)
			}
		}
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, nil, err
	}
	if head, err = parseHead(answer); err != nil {
		return nil, nil, err
	}
	states = make([]*partition, len(mine))
	for i, users := range mine {
		if answers[i] == nil {
			continue
		}
		if states[i], err = parsePartition(answers[i], nil, len(users)); err != nil {
			return nil, nil, err
		}
	}
	return head, states, nil
}

// askParts asks every partition at once, in one round trip to each server. A bucket's first
// partition returns its freshness: the others are on the same server, and asked after it.
func (r *partitions) askParts(ctx context.Context, l layout, head *boardHead, q *question) (*cut, error) {
	answers := make([]*redis.Cmd, l.count)
	first := make(map[int]int, l.count) // partition, by bucket
	for i := l.count - 1; i >= 0; i-- {
		first[r.keys.bucket(l.part(i))] = i
	}
	own := func(i int) []scoreboard.UserID {
		if q.users == nil {
			return nil
		}
		return q.users[i]
	}
	err := r.pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		for i := range answers {
			fresh := first[r.keys.bucket(l.part(i))] == i
			answers[i] = run(r.part, r.partKeys(l, i), partArguments(fresh, q.sought, own(i))...)
		}
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	c := &cut{head: head, parts: make([]*partition, l.count)}
	for i, answer := range answers {
		if c.parts[i], err = parsePartition(answer, q.sought, len(own(i))); err != nil {
			return nil, err
		}
		if p := c.parts[i]; p != nil {
			if from := c.parts[first[r.keys.bucket(l.part(i))]]; from != nil {
				p.fresh = from.fresh
			}
		}
	}
	return c, nil
}

// partKeys are the keys of the script that reads a partition.
func (r *partitions) partKeys(l layout, i int) []string {
	name := l.part(i)
	return append(r.keys.live(name), r.keys.fresh(r.keys.bucket(name)))
}

func partArguments(fresh bool, list []sought, users []scoreboard.UserID) []any {
	args := make([]any, 2, 2+4*len(list)+len(users))
	args[0], args[1] = 0, len(list)
	if fresh {
		args[0] = 1
	}
	for _, s := range list {
		if s.at == nil {
			args = append(args, "-inf", "", s.before, s.from)
		} else {
			args = append(args, strconv.FormatInt(s.at.key, 10), s.at.member, s.before, s.from)
		}
	}
	for _, user := range users {
		args = append(args, string(user))
	}
	return args
}

func parseHead(answer *redis.Cmd) (*boardHead, error) {
	values, err := answer.Slice()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reply, err := newReply(values, 12)
	if err != nil {
		return nil, err
	}
	h := &boardHead{fresh: reply.freshness()}
	h.basis = reply.basis()
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

// parsePartition reads what part.lua returned, without freshness unless it was asked for; nil
// for a partition that is not loaded.
func parsePartition(answer *redis.Cmd, list []sought, users int) (*partition, error) {
	values, err := answer.Slice()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	fields := 9 + len(list) + users
	for _, s := range list {
		if s.before+s.from > 0 {
			fields++
		}
	}
	reply, err := newReply(values, fields)
	if err != nil {
		return nil, err
	}
	p := &partition{fresh: reply.freshness()}
	p.basis = reply.basis()
	p.epoch, p.seq, p.updated, p.total = reply.int(0), reply.int(1), reply.int(2), reply.int(3)
	at := 4
	for range list {
		p.upTo = append(p.upTo, reply.int(at))
		at++
	}
	for range users {
		p.states = append(p.states, reply.string(at))
		at++
	}
	p.rows = make([][]row, len(list))
	for i, s := range list {
		if s.before+s.from == 0 {
			continue
		}
		if p.rows[i], err = parseRows(reply.values[at]); err != nil {
			return nil, err
		}
		at++
	}
	return p, reply.err
}

func parseRows(value any) ([]row, error) {
	values, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("read rows: the reply %v is malformed", value)
	}
	reply := &reply{values: values}
	rows := make([]row, 0, len(reply.values)/2)
	for i := 0; i+1 < len(reply.values); i += 2 {
		key, err := parseKey(reply.string(i + 1))
		if err != nil {
			return nil, err
		}
		member := reply.string(i)
		if len(member) <= prefixLength {
			return nil, fmt.Errorf("read a row: the member %q is too short", member)
		}
		rows = append(rows, row{key, member})
	}
	return rows, reply.err
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
func (r *partitions) readCut(ctx context.Context, l layout, q *question) (s *snapshot, err error) {
	return s, retryCut(ctx, func(last bool) (bool, error) {
		c, err := r.ask(ctx, l, q)
		if err != nil {
			return false, translate(err)
		}
		s, err = c.snapshot(last)
		return s != nil, err
	})
}

// retryCut calls read until it returns true; scoreboard.ErrNotLoaded if it does not.
func retryCut(ctx context.Context, read func(last bool) (bool, error)) error {
	for attempt := range readAttempts {
		done, err := read(attempt == readAttempts-1)
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(readPause << attempt):
		case <-ctx.Done():
			return translate(ctx.Err())
		}
	}
	return scoreboard.ErrNotLoaded
}

// snapshot returns the cut if it fits together, or nil. At the last attempt it may lack changes
// that the head includes.
func (c *cut) snapshot(last bool) (*snapshot, error) {
	switch {
	case !c.complete():
		return nil, scoreboard.ErrNotLoaded
	case !c.sameEpoch() || c.head.seqs == nil:
		return nil, nil // a rebuild swaps partitions in
	}
	s := &snapshot{cut: c, state: scoreboard.StateHealthy}
	if !dominates(c.seqs(), c.head.seqs) {
		// A partition went back: its server then is another one, which as_of takes into
		// account. Or its replica is behind that of the head.
		if !last {
			return nil, nil
		}
		s.state = scoreboard.StateCatchingUp
	}
	return s, s.evaluate()
}

// evaluate sets the oldest time, and the worst state, of the partitions and the head.
func (s *snapshot) evaluate() error {
	add := func(f *freshness, b *basis) error {
		asOf, state, err := f.evaluate(b)
		if err != nil {
			return err
		}
		if s.asOf.IsZero() || asOf.Before(s.asOf) {
			s.asOf = asOf
		}
		if state != scoreboard.StateHealthy {
			s.state = state
		}
		return nil
	}
	if err := add(s.head.fresh, &s.head.basis); err != nil {
		return err
	}
	for _, p := range s.parts {
		if err := add(p.fresh, &p.basis); err != nil {
			return err
		}
	}
	return nil
}
