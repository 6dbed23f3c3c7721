package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// mergedTop reads the head of a board in partitions.
func (r *Ranking) mergedTop(ctx context.Context, l layout) (*scoreboard.Top, error) {
	s, err := r.readCut(ctx, l, &question{})
	if err != nil {
		return nil, err
	}
	rows, err := unpackRows(s.head.rows)
	if err != nil {
		return nil, err
	}
	return s.top(l, rows, 0), nil
}

// mergedPage reads up to limit rows behind a position.
func (r *Ranking) mergedPage(
	ctx context.Context, l layout, after *scoreboard.Position, limit int,
) (*scoreboard.Top, error) {
	at := position{after.Key, prefix(after.ReachedAt) + string(after.User)}
	s, err := r.readCut(ctx, l, &question{from: limit, positions: []position{at}})
	if err != nil {
		return nil, err
	}
	rows := s.rows()
	return s.top(l, rows[:min(limit, len(rows))], s.upTo(0)), nil
}

// top makes a page of rows; first is the 0-based rank of the first row.
func (s *snapshot) top(l layout, rows []row, first int64) *scoreboard.Top {
	top := &scoreboard.Top{
		Board: l.board, Epoch: s.head.epoch, Version: s.head.version, UpdatedAt: microTime(s.head.updated),
		AsOf: s.asOf, Total: s.total(), State: s.state,
		Entries: s.entries(rows, first), Reached: make([]time.Time, len(rows)),
	}
	for i := range rows {
		top.Reached[i] = reachedAt(rows[i].member)
	}
	return top
}

func (s *snapshot) entries(rows []row, first int64) []scoreboard.Entry {
	entries := make([]scoreboard.Entry, len(rows))
	for i := range rows {
		entries[i] = scoreboard.Entry{
			Rank: first + int64(i) + 1, User: scoreboard.UserID(rows[i].member[prefixLength:]),
			Score: s.head.order.Score(rows[i].key),
		}
	}
	return entries
}

// standings reads the states of users, then what place is asked for where they stand: place
// returns the position of a user to count up to, or false. The counts, of which those of
// users without a position are -1, are of one cut, in which the states are the same.
func (r *Ranking) standings(
	ctx context.Context, l layout, users []scoreboard.UserID, before, from int,
	place func(i int, state string) (position, bool),
) (s *snapshot, states []string, counts []int64, err error) {
	mine, index := l.divide(users)
	states = make([]string, len(users))
	if err := r.readStates(ctx, l, mine, index, states); err != nil {
		return nil, nil, nil, err
	}
	for range readAttempts {
		q := &question{before: before, from: from, users: mine}
		asked := make([]int, len(users)) // index in q.positions
		for i := range users {
			asked[i] = -1
			if at, ok := place(i, states[i]); ok {
				asked[i] = len(q.positions)
				q.positions = append(q.positions, at)
			}
		}
		if len(q.positions) == 0 {
			q.before, q.from = 0, 0
		}
		if s, err = r.readCut(ctx, l, q); err != nil {
			return nil, nil, nil, err
		}
		same := true
		for of, p := range s.parts {
			for j, i := range index[of] {
				same = same && states[i] == p.states[j]
				states[i] = p.states[j]
			}
		}
		if !same {
			continue // with the new states
		}
		counts = make([]int64, len(users))
		for i := range users {
			counts[i] = -1
			if asked[i] >= 0 {
				counts[i] = s.upTo(asked[i])
			}
		}
		return s, states, counts, nil
	}
	return nil, nil, nil, unavailable("the standing keeps changing", errors.New("a standing changed with every read"))
}

// readStates reads the states of users from the partitions that have any.
func (r *Ranking) readStates(
	ctx context.Context, l layout, mine [][]scoreboard.UserID, index [][]int, states []string,
) error {
	answers := make([]*redis.Cmd, l.count)
	err := r.pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		for i := range answers {
			if len(mine[i]) == 0 {
				continue
			}
			args := []any{0, 0, 0}
			for _, user := range mine[i] {
				args = append(args, string(user))
			}
			answers[i] = run(r.part, r.keys.live(l.part(i)), args...)
		}
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return translate(err)
	}
	for i, answer := range answers {
		if answer == nil {
			continue
		}
		p, err := parsePartition(answer, 0, len(mine[i]))
		if err != nil {
			return translate(err)
		}
		if p == nil {
			return scoreboard.ErrNotLoaded
		}
		for j, at := range index[i] {
			states[at] = p.states[j]
		}
	}
	return nil
}

// standing is where a ranked user is; false for a user who is hidden or has no state.
func standing(user scoreboard.UserID, raw string) (position, bool) {
	s, err := parseState(raw)
	if err != nil || s.hidden {
		return position{}, false
	}
	return position{s.key, raw[:prefixLength] + string(user)}, true
}

// mergedPlace reads a user's standing with k neighbours on each side.
func (r *Ranking) mergedPlace(
	ctx context.Context, l layout, user scoreboard.UserID, k int,
) (*scoreboard.Place, error) {
	before, from := 0, 0
	if k > 0 {
		before, from = k+1, k // with the user
	}
	s, states, counts, err := r.standings(ctx, l, []scoreboard.UserID{user}, before, from,
		func(_ int, raw string) (position, bool) { return standing(user, raw) })
	if err != nil {
		return nil, err
	}
	if counts[0] < 0 {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "user %s has no score on board %s", user, l.board)
	}
	kept, err := parseState(states[0])
	if err != nil {
		return nil, err
	}
	p := &scoreboard.Place{
		Board: l.board, User: user, Score: s.head.order.Score(kept.key), Rank: counts[0], Total: s.total(),
		Version: s.head.version, Epoch: s.head.epoch, UpdatedAt: reachedAt(states[0]), AsOf: s.asOf,
		UserVersion: kept.version, Revision: kept.revision, State: s.state,
	}
	if k > 0 {
		rows := s.rows()
		own := slices.IndexFunc(rows, func(r row) bool { return r.member == states[0][:prefixLength]+string(user) })
		if own < 0 {
			return nil, fmt.Errorf("read the neighbours of %s: the user is not in the sorted set", user)
		}
		first := max(own-k, 0)
		p.Neighbours = s.entries(rows[first:min(own+k+1, len(rows))], p.Rank-1-int64(own-first))
	}
	return p, nil
}

// mergedList reads the standings of users.
func (r *Ranking) mergedList(
	ctx context.Context, l layout, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	s, states, counts, err := r.standings(ctx, l, users, 0, 0,
		func(i int, raw string) (position, bool) { return standing(users[i], raw) })
	if err != nil {
		return nil, err
	}
	list := &scoreboard.List{
		Board: l.board, Epoch: s.head.epoch, Version: s.head.version, AsOf: s.asOf, Total: s.total(), State: s.state,
	}
	for i, user := range users {
		if counts[i] < 0 {
			list.Missing = append(list.Missing, user)
			continue
		}
		kept, err := parseState(states[i])
		if err != nil {
			return nil, err
		}
		list.Entries = append(list.Entries, scoreboard.Entry{
			Rank: counts[i], User: user, Score: s.head.order.Score(kept.key),
		})
	}
	slices.SortFunc(list.Entries, func(a, b scoreboard.Entry) int { return cmp.Compare(a.Rank, b.Rank) })
	return list, nil
}

// mergedRanks is what ranks.lua computes for a board in one piece: keys are those of
// standings that were just recorded, nil for the current rank.
func (r *Ranking) mergedRanks(
	ctx context.Context, l layout, users []scoreboard.UserID, keys []*int64,
) ([]*int64, error) {
	recorded := func(i int, raw string) bool { // but not applied
		at, ranked := standing(users[i], raw)
		return keys[i] != nil && (!ranked || at.key != *keys[i])
	}
	_, states, counts, err := r.standings(ctx, l, users, 0, 0, func(i int, raw string) (position, bool) {
		if recorded(i, raw) {
			return position{key: *keys[i]}, true
		}
		return standing(users[i], raw)
	})
	if err != nil {
		return nil, err
	}
	ranks := make([]*int64, len(users))
	for i := range users {
		switch rank := counts[i]; {
		case rank < 0:
		case recorded(i, states[i]):
			if at, ranked := standing(users[i], states[i]); !ranked || at.key > *keys[i] {
				rank++ // else the user's own old entry is among those counted
			}
			ranks[i] = &rank
		default:
			ranks[i] = &rank
		}
	}
	return ranks, nil
}
