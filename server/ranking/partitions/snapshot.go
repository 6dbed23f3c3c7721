package partitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
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

// counts reports whether a member is at the position or before it.
func (p position) counts(member position) bool {
	if p.member == "" {
		return member.key <= p.key
	}
	return compareRows(row(member), row(p)) <= 0
}

// Position is a position to count the rows up to, and how many rows to return on both sides of it.
type Position struct {
	at           *position // nil: before all rows
	Before, from int
}

// query is what is asked of every partition at once.
type query struct {
	positions []Position
	users     [][]scoreboard.UserID // whose states to return, by partition; nil: none
	shared    bool                  // return shared ranks
	// anySubscore accepts a board whatever its subscores are.
	anySubscore bool
}

// partition is what a partition answered.
type partition struct {
	piece.Basis
	fresh                      *piece.Freshness
	epoch, seq, updated, total int64
	upTo                       []int64 // by position
	states                     []string
	rows                       [][]row // by position
	ahead                      []int64 // by position: those in the partition that rank better than its first row
}

// mergedTop is what the merged top of a board holds.
type mergedTop struct {
	piece.Basis
	fresh                   *piece.Freshness
	epoch, version, updated int64
	orders                  piece.Orders
	of                      int     // partitions
	seqs                    []int64 // nil: no rows were merged yet
	rows                    string
	total                   int64 // users ranked when rows were merged; -1: not of these sequences
}

// reading is the merged top, and the answers of all partitions, asked at once after it: each is of
// one moment of its partition. Freshness is of the same moment as what it comes with.
type reading struct {
	top   *mergedTop // nil: not loaded
	parts []*partition
}

// complete reports whether the merged top is of as many partitions, and all of them are loaded.
func (got *reading) complete() bool {
	return got.top != nil && got.top.of == len(got.parts) && !slices.Contains(got.parts, nil)
}

// sameEpoch reports whether a complete reading is of one epoch; false while a rebuild swaps
// partitions in.
func (got *reading) sameEpoch() bool {
	for _, p := range got.parts {
		if p.epoch != got.top.epoch {
			return false
		}
	}
	return true
}

// seqs returns the sequences of the partitions.
func (got *reading) seqs() []int64 {
	list := make([]int64, len(got.parts))
	for i, p := range got.parts {
		list[i] = p.seq
	}
	return list
}

// total is how many users are ranked.
func (got *reading) total() (n int64) {
	for _, p := range got.parts {
		n += p.total
	}
	return n
}

// upTo is how many members are at the position or before it.
func (got *reading) upTo(i int) (n int64) {
	for _, p := range got.parts {
		n += p.upTo[i]
	}
	return n
}

// rows returns the rows of all partitions around the position, in order.
func (got *reading) rows(i int) []row {
	var all []row
	for _, p := range got.parts {
		all = append(all, p.rows[i]...)
	}
	slices.SortFunc(all, compareRows)
	return all
}

// better is how many members have a better key, and subscore, than the first of rows that were
// returned around position i; same is how many have one than the position.
func (got *reading) better(first *row, i int, at *position, same int64) (n int64) {
	o := got.top.orders
	switch c := compareRows(tieOf(o, *first), tieOf(o, row(*at))); {
	case c == 0:
		return same
	case c > 0:
		return got.upTo(i)
	}
	for _, p := range got.parts {
		n += p.better(o, first, i, at)
	}
	return n
}

// tieOf is what rows that share a rank have in common.
func tieOf(o piece.Orders, r row) row { return row{r.key, o.Tie(r.member)} }

// better is better within a partition, for a row of any partition before the position. Where the
// partition's first row is behind that, it has none before.
func (p *partition) better(o piece.Orders, first *row, i int, at *position) int64 {
	rows := p.rows[i]
	if len(rows) > 0 && tieOf(o, rows[0]) == tieOf(o, *first) {
		return p.ahead[i]
	}
	n := p.upTo[i]
	for j := range rows {
		if compareRows(rows[j], row(*at)) <= 0 && compareRows(tieOf(o, rows[j]), tieOf(o, *first)) >= 0 {
			n--
		}
	}
	return n
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

// ReadPause is how long the first repeated read waits; each further one waits twice as long.
const ReadPause = time.Millisecond

// ask reads the merged top, then asks every partition.
func (r *Boards) ask(ctx context.Context, l piece.Layout, q *query) (*reading, error) {
	top, _, err := r.askTop(ctx, l, nil)
	if err != nil {
		return nil, err
	}
	return r.askParts(ctx, l, top, q)
}

// askTop reads the merged top, and the states of users from the partitions that have any: those
// of partitions that are not loaded are missing.
func (r *Boards) askTop(
	ctx context.Context, l piece.Layout, mine [][]scoreboard.UserID,
) (top *mergedTop, states []*partition, err error) {
	var answer *redis.Cmd
	answers := make([]*redis.Cmd, len(mine))
	err = r.Pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		answer = run(r.top, []string{r.Keys.Top(l.Board), r.Keys.Fresh(r.Keys.Bucket(l.Board))})
		for i, users := range mine {
			if len(users) > 0 {
				answers[i] = run(r.part, r.partKeys(l, i), partArguments(false, false, nil, users)...)
			}
		}
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, nil, err
	}
	if top, err = ParseTop(answer); err != nil {
		return nil, nil, err
	}
	states = make([]*partition, len(mine))
	for i, users := range mine {
		if answers[i] == nil {
			continue
		}
		if states[i], err = ParsePartition(answers[i], 0, nil, len(users)); err != nil {
			return nil, nil, err
		}
	}
	return top, states, nil
}

// askParts asks every partition at once, in one round trip to each server. A bucket's first
// partition returns its freshness: the others are on the same server, and asked after it.
func (r *Boards) askParts(ctx context.Context, l piece.Layout, top *mergedTop, q *query) (*reading, error) {
	answers := make([]*redis.Cmd, l.Count)
	first := make(map[int]int, l.Count) // partition, by bucket
	for i := l.Count - 1; i >= 0; i-- {
		first[r.Keys.Bucket(l.Part(i))] = i
	}
	own := func(i int) []scoreboard.UserID {
		if q.users == nil {
			return nil
		}
		return q.users[i]
	}
	err := r.Pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		for i := range answers {
			fresh := first[r.Keys.Bucket(l.Part(i))] == i
			answers[i] = run(r.part, r.partKeys(l, i), partArguments(fresh, q.shared, q.positions, own(i))...)
		}
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	got := &reading{top: top, parts: make([]*partition, l.Count)}
	var orders piece.Orders
	if top != nil {
		orders = top.orders
	}
	for i, answer := range answers {
		if got.parts[i], err = ParsePartition(answer, orders.Width(), q.positions, len(own(i))); err != nil {
			return nil, err
		}
		if p := got.parts[i]; p != nil {
			if from := got.parts[first[r.Keys.Bucket(l.Part(i))]]; from != nil {
				p.fresh = from.fresh
			}
		}
	}
	return got, nil
}

// partKeys are the keys of the script that reads a partition.
func (r *Boards) partKeys(l piece.Layout, i int) []string {
	name := l.Part(i)
	return append(r.Keys.Live(name), r.Keys.Fresh(r.Keys.Bucket(name)))
}

func partArguments(fresh, shared bool, list []Position, users []scoreboard.UserID) []any {
	args := make([]any, 3, 3+4*len(list)+len(users))
	args[0], args[1], args[2] = 0, 0, len(list)
	if fresh {
		args[0] = 1
	}
	if shared {
		args[1] = 1
	}
	for _, s := range list {
		if s.at == nil {
			args = append(args, "-inf", "", s.Before, s.from)
		} else {
			args = append(args, strconv.FormatInt(s.at.key, 10), s.at.member, s.Before, s.from)
		}
	}
	for _, user := range users {
		args = append(args, string(user))
	}
	return args
}

// ParseTop reads what top.lua returned; nil for a merged top that is not there.
func ParseTop(answer *redis.Cmd) (*mergedTop, error) {
	values, err := answer.Slice()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reply, err := piece.NewReply(values, 14)
	if err != nil {
		return nil, err
	}
	h := &mergedTop{fresh: reply.Freshness(), total: -1}
	h.Basis = reply.Basis()
	h.epoch, h.version, h.updated = reply.Int(0), reply.Int(1), reply.Int(2)
	h.orders = piece.ParseOrders(reply.Text(3))
	h.of = int(reply.Int(4))
	if text, merged := reply.Values[5].(string); merged {
		if h.seqs, err = parseSequences(text); err != nil {
			return nil, err
		}
		h.rows = reply.Text(6)
		if total, ok := reply.Values[7].(string); ok {
			if h.total, err = parseTotal(total, text); err != nil {
				return nil, err
			}
		}
	}
	return h, reply.Err
}

// ParsePartition reads what part.lua returned, without freshness unless it was asked for; nil
// for a partition that is not loaded. Its members have prefixes of this length.
func ParsePartition(answer *redis.Cmd, width int, list []Position, users int) (*partition, error) {
	values, err := answer.Slice()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	fields := 10 + len(list) + users
	for _, s := range list {
		if s.Before+s.from > 0 {
			fields += 2
		}
	}
	reply, err := piece.NewReply(values, fields)
	if err != nil {
		return nil, err
	}
	p := &partition{fresh: reply.Freshness()}
	p.Basis = reply.Basis()
	p.epoch, p.seq, p.updated, p.total = reply.Int(0), reply.Int(1), reply.Int(2), reply.Int(3)
	at := 4
	for range list {
		p.upTo = append(p.upTo, reply.Int(at))
		at++
	}
	for range users {
		p.states = append(p.states, reply.Text(at))
		at++
	}
	p.rows, p.ahead = make([][]row, len(list)), make([]int64, len(list))
	for i, s := range list {
		if s.Before+s.from == 0 {
			continue
		}
		p.ahead[i] = reply.Int(at)
		if p.rows[i], err = parseRows(reply.Values[at+1], width); err != nil {
			return nil, err
		}
		at += 2
	}
	return p, reply.Err
}

func parseRows(value any, width int) ([]row, error) {
	values, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("read rows: the reply %v is malformed", value)
	}
	reply := &piece.Reply{Values: values}
	rows := make([]row, 0, len(reply.Values)/2)
	for i := 0; i+1 < len(reply.Values); i += 2 {
		key, err := piece.ParseKey(reply.Text(i + 1))
		if err != nil {
			return nil, err
		}
		member := reply.Text(i)
		if len(member) <= width {
			return nil, fmt.Errorf("read a row: the member %q is too short", member)
		}
		rows = append(rows, row{key, member})
	}
	return rows, reply.Err
}

// parseTotal reads how many users were ranked when the merged top had these sequences, -1 if the total is of
// others.
func parseTotal(text, seqs string) (int64, error) {
	total, of, _ := strings.Cut(text, "/")
	if of != seqs {
		return -1, nil
	}
	n, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the total of a board: %w", err)
	}
	return n, nil
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

// snapshot is a reading that fits together, and how fresh it is.
type snapshot struct {
	*reading
	asOf  time.Time
	state scoreboard.BoardState
}

// readSnapshot asks until the merged top and partitions are of one epoch, and the partitions include what
// the merged top does; scoreboard.ErrNotLoaded if one is missing, or they do not come to fit.
func (r *Boards) readSnapshot(ctx context.Context, l piece.Layout, q *query) (s *snapshot, err error) {
	return s, retryRead(ctx, func(last bool) (bool, error) {
		got, err := r.ask(ctx, l, q)
		if err != nil {
			return false, piece.Translate(err)
		}
		if q.anySubscore && got.top != nil {
			l.Subscore = got.top.orders.Subscore
		}
		s, err = got.snapshot(l, last)
		return s != nil, err
	})
}

// retryRead calls read until it returns true; scoreboard.ErrNotLoaded if it does not.
func retryRead(ctx context.Context, read func(last bool) (bool, error)) error {
	for attempt := range readAttempts {
		done, err := read(attempt == readAttempts-1)
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(ReadPause << attempt):
		case <-ctx.Done():
			return piece.Translate(ctx.Err())
		}
	}
	return scoreboard.ErrNotLoaded
}

// snapshot returns the reading if it fits together, or nil. At the last attempt it may lack changes
// that the merged top includes.
func (got *reading) snapshot(l piece.Layout, last bool) (*snapshot, error) {
	switch {
	case !got.complete():
		return nil, scoreboard.ErrNotLoaded
	case l.Check(got.top.orders) != nil:
		return nil, scoreboard.ErrNotLoaded
	case !got.sameEpoch() || got.top.seqs == nil:
		return nil, nil // a rebuild swaps partitions in
	}
	s := &snapshot{reading: got, state: scoreboard.StateHealthy}
	if !dominates(got.seqs(), got.top.seqs) {
		// A partition went back: its server then is another one, which as_of takes into
		// account. Or its replica is behind that of the merged top.
		if !last {
			return nil, nil
		}
		s.state = scoreboard.StateCatchingUp
	}
	return s, s.evaluate()
}

// evaluate sets the oldest time, and the worst state, of the partitions and the merged top.
func (s *snapshot) evaluate() error {
	add := func(f *piece.Freshness, b *piece.Basis) error {
		asOf, state, err := f.Evaluate(b)
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
	if err := add(s.top.fresh, &s.top.Basis); err != nil {
		return err
	}
	for _, p := range s.parts {
		if err := add(p.fresh, &p.Basis); err != nil {
			return err
		}
	}
	return nil
}
