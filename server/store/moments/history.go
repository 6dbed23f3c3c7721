package moments

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// History returns a user's score and rank at times, which rise; Place answers the same at each
// of them. The events between a time and its checkpoint count toward one bound for all times.
// Only Now and Masked of at matter.
func (m *Moments) History(
	ctx context.Context, board *scoreboard.Board, at scoreboard.Moment, user scoreboard.UserID, times []time.Time,
) ([]scoreboard.RankPoint, error) {
	at.At = times[len(times)-1]
	points := make([]scoreboard.RankPoint, 0, len(times))
	err := m.inSnapshot(ctx, board, at.At, func(ctx context.Context, tx pgx.Tx) error {
		h := &history{tx: tx, board: board, at: at, user: user, budget: m.maxEvents}
		spans, err := h.spans(ctx, times)
		if err == nil {
			err = h.load(ctx)
		}
		for i := 0; err == nil && i < len(spans); i++ {
			var some []scoreboard.RankPoint
			some, err = h.sweep(ctx, spans[i])
			points = append(points, some...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(points, func(p scoreboard.RankPoint) bool { return p.Rank > 0 }) {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "user %s had no score on board %s then", user, board.ID)
	}
	return points, nil
}

// history is what is the same for all checkpoints.
type history struct {
	tx     pgx.Tx
	board  *scoreboard.Board
	at     scoreboard.Moment // the last one
	user   scoreboard.UserID
	budget int // events that may still be read

	statuses []statusChange                     // in order; none if today's count
	folded   map[scoreboard.UserID][]foldedMove // users whose scores are computed again, by version
}

// reasons are why a user is hidden.
type reasons uint8

const (
	banned reasons = 1 << iota
	private
)

// with returns r with a reason, or without it.
func (r reasons) with(reason reasons, on bool) reasons {
	if on {
		return r | reason
	}
	return r &^ reason
}

// statusChange is that a user is hidden for a reason from a time on, or no longer.
type statusChange struct {
	user   scoreboard.UserID
	reason reasons
	on     bool
	at     time.Time
}

type foldedMove struct {
	at time.Time
	move
}

// move is what a row of the ledger makes of a user's standing.
type move struct {
	user    scoreboard.UserID
	step    int // the first time that has it
	version int64
	exists  bool
	key     int64
	reached time.Time

	had       bool // whether the user had a score before
	keyBefore int64
}

func (mv *move) position() scoreboard.Position {
	return scoreboard.Position{Key: mv.key, ReachedAt: mv.reached, User: mv.user}
}

// mover is a user whose standing is not simply that of the checkpoint.
type mover struct {
	version int64
	exists  bool
	hidden  reasons
	scoreboard.Position
}

func (m *mover) apply(mv *move) {
	if mv.version > m.version { // rows of one step come in any order
		m.version, m.exists, m.Position = mv.version, mv.exists, mv.position()
	}
}

// spans groups times that are read from the same checkpoint.
func (h *history) spans(ctx context.Context, times []time.Time) (spans [][]time.Time, err error) {
	rows, err := h.tx.Query(ctx, `select t.at, coalesce(c.checkpoint_id, 0)
from unnest($2::timestamptz[]) with ordinality as t(at, i) left join lateral (
    select checkpoint_id from checkpoints where board_id = $1 and complete and at <= t.at order by at desc limit 1
) as c on true order by t.i`, h.board.ID, times)
	if err != nil {
		return nil, err
	}
	var at time.Time
	var id, last int64
	_, err = pgx.ForEachRow(rows, []any{&at, &id}, func() error {
		if len(spans) == 0 || id != last {
			spans = append(spans, nil)
		}
		last = id
		n := len(spans) - 1
		spans[n] = append(spans[n], at.UTC())
		return nil
	})
	return spans, err
}

// load reads what depends on no checkpoint.
func (h *history) load(ctx context.Context) error {
	if !h.at.Now {
		return h.readStatuses(ctx)
	}
	l := newLoader(h.tx, h.board, h.at)
	if err := l.readHidden(ctx); err != nil {
		return err
	}
	users, err := l.corrected(ctx)
	if err != nil {
		return err
	}
	h.folded = make(map[scoreboard.UserID][]foldedMove, len(users))
	for _, u := range users {
		h.folded[u] = nil
	}
	return l.fold(ctx, users, func(u scoreboard.UserID, r *ledger.FoldRow, after ledger.Standing) {
		h.folded[u] = append(h.folded[u], foldedMove{r.At.UTC(), move{
			user: u, version: r.Version, exists: after.Exists, key: h.board.Order.Key(after.Score),
			reached: after.ReachedAt,
		}})
	})
}

// readStatuses reads who was hidden when.
func (h *history) readStatuses(ctx context.Context) error {
	for reason, sql := range map[reasons]string{
		banned: `select user_id, status = 'banned', at from user_statuses where at <= $1 order by id`,
		private: `select user_id, true, since from private_users where since <= $1
union all select user_id, false, until from private_users where until <= $1 order by 1, 3, 2`,
	} {
		rows, err := h.tx.Query(ctx, sql, h.at.At)
		if err != nil {
			return err
		}
		c := statusChange{reason: reason}
		if _, err := pgx.ForEachRow(rows, []any{&c.user, &c.on, &c.at}, func() error {
			h.statuses = append(h.statuses, c)
			return nil
		}); err != nil {
			return err
		}
	}
	slices.SortStableFunc(h.statuses, func(a, b statusChange) int { return a.at.Compare(b.at) })
	return nil
}

// sweep goes once through the events after a checkpoint, for all times that are read from it.
// Ranks need no positions of others, only how many are ahead of each position that the user
// has at one of the times.
type sweep struct {
	*history
	*loader
	times  []time.Time
	moves  []move
	always map[scoreboard.UserID]struct{} // hidden at all times
	movers map[scoreboard.UserID]*mover

	own   []scoreboard.Position // that the user has at one of the times, in order
	base  []int64               // standings of the checkpoint ahead of each
	ahead []int64               // by the first own position that they are ahead of: what to add to base
	count int64                 // ranked users
}

func (h *history) sweep(ctx context.Context, times []time.Time) ([]scoreboard.RankPoint, error) {
	at := h.at
	at.At = times[len(times)-1]
	s := &sweep{
		history: h, loader: newLoader(h.tx, h.board, at), times: times,
		always: make(map[scoreboard.UserID]struct{}), movers: make(map[scoreboard.UserID]*mover),
	}
	for _, step := range []func(context.Context) error{
		s.readCheckpoint, s.readAlways, s.readMoves, s.begin,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s.points()
}

func (s *sweep) readAlways(ctx context.Context) error {
	return s.readUsers(ctx, s.always, sqlHidden, s.history.at.Now || s.history.at.Masked)
}

// stepOf returns the first time that includes t.
func (s *sweep) stepOf(t time.Time) int {
	return sort.Search(len(s.times), func(i int) bool { return !s.times[i].Before(t) })
}

// corrections are the standings that corrections left, by user and version.
type corrections map[scoreboard.UserID]map[int64]correction

func (s *sweep) readCorrections(ctx context.Context) (corrections, error) {
	all := make(corrections)
	err := s.eachCorrection(ctx, func(user scoreboard.UserID, version int64, left correction) {
		if all[user] == nil {
			all[user] = make(map[int64]correction)
		}
		all[user][version] = left
	})
	return all, err
}

// readMoves reads the rows after the checkpoint that change a standing.
func (s *sweep) readMoves(ctx context.Context) error {
	corrected, err := s.readCorrections(ctx)
	if err != nil {
		return err
	}
	order := s.history.board.Order
	n, err := s.eachRow(ctx, s.budget, func(r *ledgerRow) {
		c, isCorrection := corrected[r.user][r.version]
		if _, again := s.folded[r.user]; again || r.applied == 0 && r.had && !isCorrection {
			return
		}
		mv := move{
			user: r.user, step: s.stepOf(r.at), version: r.version, exists: !c.empty, had: r.had,
			key: order.Key(r.score), reached: r.at,
		}
		if isCorrection {
			mv.reached = c.reached
		}
		if r.had {
			mv.keyBefore = order.Key(r.previous)
		}
		s.moves = append(s.moves, mv)
	})
	if err != nil {
		return err
	}
	if s.budget -= n; s.budget < 0 {
		return scoreboard.Errorf(scoreboard.CodeGone,
			"more than the maximum of events between the checkpoints of board %s and the points; use fewer points",
			s.history.board.ID)
	}
	for user, moves := range s.folded {
		for i := range moves {
			if at := moves[i].at; at.After(s.since) && !at.After(s.loader.at.At) {
				mv := moves[i].move
				mv.user, mv.step = user, s.stepOf(at)
				s.moves = append(s.moves, mv)
			}
		}
	}
	slices.SortStableFunc(s.moves, func(a, b move) int { return a.step - b.step })
	return nil
}

// begin finds the standings at the checkpoint of all users who move, or who are hidden at
// some of the times.
func (s *sweep) begin(ctx context.Context) error {
	hidden := make(map[scoreboard.UserID]reasons) // at the checkpoint, of those with a status
	for _, c := range s.statuses {
		before := hidden[c.user]
		if !c.at.After(s.since) {
			before = before.with(c.reason, c.on)
		}
		hidden[c.user] = before
	}
	known := map[scoreboard.UserID]struct{}{s.user: {}}
	for u := range s.always {
		known[u] = struct{}{}
	}
	for u := range hidden {
		known[u] = struct{}{}
	}
	for u := range s.folded {
		known[u] = struct{}{}
	}
	found, err := s.findKnown(ctx, known)
	if err != nil {
		return err
	}
	for u := range known {
		s.movers[u] = s.moverAt(u, found, hidden[u])
	}
	for u := range s.masked {
		if _, listed := known[u]; !listed {
			s.movers[u] = s.moverAt(u, nil, 0)
		}
	}
	if err := s.rankOwn(ctx); err != nil {
		return err
	}
	for u, p := range found {
		s.add(&p, -1)
		known[u] = struct{}{}
	}
	if err := s.beginOthers(ctx, known); err != nil {
		return err
	}
	for u, m := range s.movers {
		if s.shown(u, m) {
			s.add(&m.Position, 1)
		}
	}
	return nil
}

func (s *sweep) findKnown(
	ctx context.Context, users map[scoreboard.UserID]struct{},
) (map[scoreboard.UserID]scoreboard.Position, error) {
	list := make([]scoreboard.UserID, 0, len(users))
	for u := range users {
		list = append(list, u)
	}
	return s.find(ctx, list)
}

// moverAt is a user at the checkpoint.
func (s *sweep) moverAt(u scoreboard.UserID, found map[scoreboard.UserID]scoreboard.Position, hidden reasons) *mover {
	m := &mover{hidden: hidden}
	m.Position, m.exists = found[u]
	if p, masked := s.masked[u]; masked {
		m.Position, m.exists = p, true
	}
	if moves, again := s.folded[u]; again {
		m.exists = false
		for i := range moves {
			if !moves[i].at.After(s.since) {
				m.apply(&moves[i].move)
			}
		}
		m.version = 0 // moves of the same user follow
	}
	return m
}

// rankOwn finds the positions that the user has at the times, and what of the checkpoint is
// ahead of them.
func (s *sweep) rankOwn(ctx context.Context) error {
	me := *s.movers[s.user]
	next := 0
	for i := range s.times {
		for ; next < len(s.moves) && s.moves[next].step == i; next++ {
			if mv := &s.moves[next]; mv.user == s.user {
				me.apply(mv)
			}
		}
		if me.exists {
			s.own = append(s.own, me.Position)
		}
	}
	slices.SortFunc(s.own, func(p, q scoreboard.Position) int { return p.Compare(&q) })
	s.own = slices.CompactFunc(s.own, func(p, q scoreboard.Position) bool { return p.Compare(&q) == 0 })
	s.base, s.ahead = make([]int64, len(s.own)), make([]int64, len(s.own)+1)
	for i := range s.own {
		var err error
		if s.base[i], err = s.loader.ahead(ctx, &s.own[i]); err != nil {
			return err
		}
	}
	s.count = s.total
	return nil
}

// beginOthers takes the users who move out of the checkpoint, but for those who are already.
func (s *sweep) beginOthers(ctx context.Context, known map[scoreboard.UserID]struct{}) error {
	first := make(map[scoreboard.UserID]*move)
	for i := range s.moves {
		mv := &s.moves[i]
		if f := first[mv.user]; f == nil || mv.version < f.version {
			first[mv.user] = mv
		}
	}
	var tied []scoreboard.UserID // whose times decide
	for u, mv := range first {
		if s.movers[u] != nil {
			continue
		}
		m := &mover{exists: mv.had, Position: scoreboard.Position{Key: mv.keyBefore, User: u}}
		s.movers[u] = m
		if !mv.had {
			continue
		}
		i := sort.Search(len(s.own), func(i int) bool { return s.own[i].Key >= m.Key })
		if i < len(s.own) && s.own[i].Key == m.Key {
			tied = append(tied, u)
		} else {
			s.add(&m.Position, -1)
		}
	}
	found, err := s.find(ctx, tied)
	if err != nil {
		return err
	}
	for _, u := range tied {
		p, ok := found[u]
		if !ok {
			return fmt.Errorf("%w: %s is not in it", errBlock, u)
		}
		s.movers[u].Position = p
		s.add(&p, -1)
	}
	return nil
}

// add counts a standing, or takes it out.
func (s *sweep) add(p *scoreboard.Position, n int64) {
	s.ahead[sort.Search(len(s.own), func(i int) bool { return p.Compare(&s.own[i]) < 0 })] += n
	s.count += n
}

func (s *sweep) shown(u scoreboard.UserID, m *mover) bool {
	_, hidden := s.always[u]
	return m.exists && m.hidden == 0 && !hidden
}

// change changes a user and updates the counts.
func (s *sweep) change(u scoreboard.UserID, do func(*mover)) {
	m := s.movers[u]
	if s.shown(u, m) {
		s.add(&m.Position, -1)
	}
	do(m)
	if s.shown(u, m) {
		s.add(&m.Position, 1)
	}
}

// points goes through the times.
func (s *sweep) points() ([]scoreboard.RankPoint, error) {
	points := make([]scoreboard.RankPoint, len(s.times))
	statuses := s.statuses
	for len(statuses) > 0 && !statuses[0].at.After(s.since) {
		statuses = statuses[1:]
	}
	moves := s.moves
	me := s.movers[s.user]
	for i, at := range s.times {
		for ; len(moves) > 0 && moves[0].step == i; moves = moves[1:] {
			mv := &moves[0]
			s.change(mv.user, func(m *mover) { m.apply(mv) })
		}
		for ; len(statuses) > 0 && !statuses[0].at.After(at); statuses = statuses[1:] {
			c := &statuses[0]
			s.change(c.user, func(m *mover) { m.hidden = m.hidden.with(c.reason, c.on) })
		}
		points[i] = scoreboard.RankPoint{At: at, Total: s.count}
		if !s.shown(s.user, me) {
			continue
		}
		j := sort.Search(len(s.own), func(i int) bool { return s.own[i].Compare(&me.Position) >= 0 })
		points[i].Score, points[i].Rank = s.history.board.Order.Score(me.Key), 1+s.base[j]
		for _, n := range s.ahead[:j+1] {
			points[i].Rank += n
		}
	}
	return points, nil
}
