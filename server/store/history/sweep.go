package history

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// series is a past that is read at several times: what is the same for all checkpoints.
type series struct {
	tx     pgx.Tx
	board  *scoreboard.Board
	at     scoreboard.PastTime // the last one
	budget int                 // events that may still be read

	bans   []statusChange                     // in order; none if today's count
	folded map[scoreboard.UserID][]foldedMove // users whose scores are computed again, by version
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
	keys
	reached time.Time

	had    bool // whether the user had a score before
	before keys
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
		m.version, m.exists, m.Position = mv.version, mv.exists, mv.position(mv.reached, mv.user)
	}
}

// spans groups times that are read from the same checkpoint.
func (a *series) spans(ctx context.Context, times []time.Time) (spans [][]time.Time, err error) {
	rows, err := a.tx.Query(ctx, `select t.at, coalesce(c.checkpoint_id, 0)
from unnest($2::timestamptz[]) with ordinality as t(at, i) left join lateral (
    select checkpoint_id from checkpoints where board_id = $1 and complete and at <= t.at order by at desc limit 1
) as c on true order by t.i`, a.board.ID, times)
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
func (a *series) load(ctx context.Context) error {
	if !a.at.Now {
		return a.readBans(ctx)
	}
	l := newLoader(a.tx, a.board, a.at)
	if err := l.readRecounted(ctx); err != nil {
		return err
	}
	if err := l.readHidden(ctx); err != nil {
		return err
	}
	users := l.shownRecounted()
	a.folded = make(map[scoreboard.UserID][]foldedMove, len(users))
	for _, u := range users {
		a.folded[u] = nil
	}
	return l.fold(ctx, users, func(u scoreboard.UserID, r *ledger.FoldRow, after ledger.Standing) {
		a.folded[u] = append(a.folded[u], foldedMove{r.At.UTC(), move{
			user: u, version: r.Version, exists: after.Exists, keys: keysOn(a.board, after.Pair),
			reached: after.ReachedAt,
		}})
	})
}

// sweep goes once through the events after a checkpoint, for all times that are read from it.
type sweep struct {
	*series
	*loader
	times    []time.Time
	moves    []move
	always   userSet        // hidden at all times
	statuses []statusChange // in order; none if today's count
	movers   map[scoreboard.UserID]*mover

	count int64 // ranked users
	// tally is told of each standing that joins, with 1, or leaves, with -1.
	tally func(p *scoreboard.Position, n int64)
}

// newSweep reads what times that share a checkpoint have in common.
func (a *series) newSweep(ctx context.Context, times []time.Time) (*sweep, error) {
	at := a.at
	at.At = times[len(times)-1]
	s := &sweep{
		series: a, loader: newLoader(a.tx, a.board, at), times: times,
		always: make(userSet), movers: make(map[scoreboard.UserID]*mover),
	}
	for _, step := range []func(context.Context) error{s.readCheckpoint, s.readMoves} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.count = s.total
	return s, nil
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
	board := s.series.board
	n, err := s.eachRow(ctx, s.budget, func(r *ledgerRow) {
		c, isCorrection := corrected[scoreboard.UserID(r.user)][r.version]
		if _, again := s.folded[scoreboard.UserID(r.user)]; again || !r.moved() && !isCorrection {
			return
		}
		mv := move{
			user: scoreboard.UserID(r.user), step: s.stepOf(r.at), version: r.version, exists: !c.empty, had: r.had,
			keys: keysOn(board, r.score), reached: r.at,
		}
		if isCorrection {
			mv.reached = c.reached
		}
		if r.had {
			mv.before = keysOn(board, r.previous)
		}
		s.moves = append(s.moves, mv)
	})
	if err != nil {
		return err
	}
	if s.budget -= n; s.budget < 0 {
		return scoreboard.Errorf(wire.CodeGone,
			"more than the maximum of events between the checkpoints of board %s and the points; use fewer points",
			s.series.board.ID)
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

// beginKnown finds the standings at the checkpoint of the users who are hidden at some of the
// times, of those whose scores are computed again, and of also. It returns those that the
// checkpoint ranks.
func (s *sweep) beginKnown(
	ctx context.Context, also ...scoreboard.UserID,
) (map[scoreboard.UserID]scoreboard.Position, error) {
	if err := s.readVisibility(ctx, also); err != nil {
		return nil, err
	}
	hidden := make(map[scoreboard.UserID]reasons) // at the checkpoint, of those with a status
	for _, c := range s.statuses {
		before := hidden[c.user]
		if !c.at.After(s.since) {
			before = before.with(c.reason, c.on)
		}
		hidden[c.user] = before
	}
	known := make(map[scoreboard.UserID]struct{})
	for _, u := range also {
		known[u] = struct{}{}
	}
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
		return nil, err
	}
	for u := range known {
		s.movers[u] = s.moverAt(u, found, hidden[u])
	}
	for u := range s.masked {
		if s.movers[u] == nil {
			s.movers[u] = s.moverAt(u, nil, 0)
		}
	}
	return found, nil
}

// beginOthers makes movers of the users who move and are none yet. The moves tell only the keys
// that each had at the checkpoint. It returns those who had one.
func (s *sweep) beginOthers() (had []*mover) {
	first := make(map[scoreboard.UserID]*move)
	for i := range s.moves {
		mv := &s.moves[i]
		if s.movers[mv.user] != nil {
			continue
		}
		if f := first[mv.user]; f == nil || mv.version < f.version {
			first[mv.user] = mv
		}
	}
	for u, mv := range first {
		m := &mover{exists: mv.had, Position: mv.before.position(time.Time{}, u)}
		s.movers[u] = m
		if mv.had {
			had = append(had, m)
		}
	}
	return had
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

// add counts a standing, or takes it out.
func (s *sweep) add(p *scoreboard.Position, n int64) {
	s.count += n
	s.tally(p, n)
}

// play goes through the times, and calls do after the changes up to each. Changed is false if
// there were none.
func (s *sweep) play(do func(i int, changed bool)) {
	statuses := s.statuses
	for len(statuses) > 0 && !statuses[0].at.After(s.since) {
		statuses = statuses[1:]
	}
	moves := s.moves
	for i, at := range s.times {
		changed := false
		for ; len(moves) > 0 && moves[0].step == i; moves, changed = moves[1:], true {
			mv := &moves[0]
			s.change(mv.user, func(m *mover) { m.apply(mv) })
		}
		for ; len(statuses) > 0 && !statuses[0].at.After(at); statuses, changed = statuses[1:], true {
			c := &statuses[0]
			s.change(c.user, func(m *mover) { m.hidden = m.hidden.with(c.reason, c.on) })
		}
		do(i, changed)
	}
}
