package partitions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Top reads the merged top of a board in partitions, with the total of the moment when it was merged: the
// partitions may have more users by now than its rows.
func (r *Boards) Top(ctx context.Context, l piece.Layout) (*scoreboard.Top, error) {
	s, err := r.readSnapshot(ctx, l, &query{})
	if err != nil {
		return nil, err
	}
	rows, err := unpackRows(s.top.orders, s.top.rows)
	if err != nil {
		return nil, err
	}
	top := s.page(l, rows, 0)
	if s.top.total >= 0 {
		top.Total = s.top.total
	}
	if l.Shared {
		top.ShareRanks(1)
	}
	return top, nil
}

// Around reads rows around a position.
func (r *Boards) Around(
	ctx context.Context, l piece.Layout, of *scoreboard.Position, before, behind int,
) (*scoreboard.Top, error) {
	at := position{of.Key, piece.Orders{Subscore: l.Subscore}.Member(of)}
	q := &query{positions: []Position{{at: &at, Before: before, from: behind}}, shared: l.Shared}
	if l.Shared {
		q.positions = append(q.positions, Position{at: aheadOf(l, at.key, at.member)})
	}
	s, err := r.readSnapshot(ctx, l, q)
	if err != nil {
		return nil, err
	}
	rows := s.rows(0)
	ahead := 0
	for ahead < len(rows) && compareRows(rows[ahead], row(at)) <= 0 {
		ahead++
	}
	first := max(ahead-before, 0)
	rows = rows[first:min(ahead+behind, len(rows))]
	top := s.page(l, rows, s.upTo(0)-int64(ahead-first))
	if l.Shared && len(rows) > 0 {
		top.ShareRanks(s.better(&rows[0], 0, &at, s.upTo(1)) + 1)
	}
	return top, nil
}

// aheadOf returns the position ahead of all members of a key and of the subscore that a prefix
// begins with: keys are integers, and members are longer than a subscore.
func aheadOf(l piece.Layout, key int64, prefix string) *position {
	if l.Subscore == "" {
		return &position{key: key - 1}
	}
	return &position{key, piece.Orders{Subscore: l.Subscore}.Tie(prefix)}
}

// top makes a page of rows; first is the 0-based rank of the first row.
func (s *snapshot) page(l piece.Layout, rows []row, first int64) *scoreboard.Top {
	top := &scoreboard.Top{
		Board: l.Board, Epoch: s.top.epoch, Version: s.top.version, UpdatedAt: piece.MicroTime(s.top.updated),
		AsOf: s.asOf, Total: s.total(), State: s.state, Subscores: s.top.orders.Subscore != "",
		Entries: s.entries(rows, first), Reached: make([]time.Time, len(rows)),
	}
	for i := range rows {
		top.Reached[i] = s.top.orders.ReachedAt(rows[i].member)
	}
	return top
}

func (s *snapshot) entries(rows []row, first int64) []scoreboard.Entry {
	entries := make([]scoreboard.Entry, len(rows))
	for i := range rows {
		entries[i] = s.top.orders.Entry(first+int64(i)+1, rows[i].key, rows[i].member)
	}
	return entries
}

// widthOf is the length of the prefixes of a board.
func widthOf(l piece.Layout) int { return piece.Orders{Subscore: l.Subscore}.Width() }

// standing is where a ranked user is; false for a user who is hidden or has no state.
func standing(l piece.Layout, user scoreboard.UserID, raw string) (position, bool) {
	s, err := piece.ParseState(raw, widthOf(l))
	if err != nil || s.Hidden {
		return position{}, false
	}
	return position{s.Key, s.Prefix + string(user)}, true
}

// ranked is where the rank of a user is counted: up to the user or, with shared ranks, up to those
// with a better key. The rank is the count then, or one more.
func ranked(l piece.Layout, user scoreboard.UserID, raw string) (position, bool) {
	at, ok := standing(l, user, raw)
	if ok && l.Shared {
		at = *aheadOf(l, at.key, at.member)
	}
	return at, ok
}

// Place reads a user's standing with k neighbours on each side.
func (r *Boards) Place(
	ctx context.Context, l piece.Layout, user scoreboard.UserID, k int,
) (*scoreboard.Place, error) {
	at := lookup{users: []scoreboard.UserID{user}, place: func(_ int, raw string) (position, bool) {
		return standing(l, user, raw)
	}}
	if k > 0 {
		at.before, at.from = k+1, k // with the user
	}
	if l.Shared {
		at.users = append(at.users, user)
		at.place = func(i int, raw string) (position, bool) {
			if i > 0 {
				return ranked(l, user, raw)
			}
			return standing(l, user, raw)
		}
	}
	if err := r.look(ctx, l, &at); err != nil {
		return nil, err
	}
	s := at.snapshot
	if at.counts[0] < 0 {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "user %s has no score on board %s", user, l.Board)
	}
	kept, err := piece.ParseState(at.states[0], widthOf(l))
	if err != nil {
		return nil, err
	}
	pair := s.top.orders.Pair(kept.Key, kept.Prefix)
	p := &scoreboard.Place{
		Board: l.Board, User: user, Score: pair.Score, Subscore: pair.Subscore, Rank: at.counts[0], Total: s.total(),
		Version: s.top.version, Epoch: s.top.epoch, UpdatedAt: s.top.orders.ReachedAt(kept.Prefix), AsOf: s.asOf,
		UserVersion: kept.Version, Revision: kept.Revision, State: s.state,
	}
	if l.Shared {
		p.Rank = at.counts[1] + 1
	}
	if k > 0 {
		rows := at.rows
		member := kept.Prefix + string(user)
		own := slices.IndexFunc(rows, func(r row) bool { return r.member == member })
		if own < 0 {
			return nil, fmt.Errorf("read the neighbours of %s: the user is not in the sorted set", user)
		}
		first := max(own-k, 0)
		rows = rows[first:min(own+k+1, len(rows))]
		p.Neighbours = s.entries(rows, at.counts[0]-1-int64(own-first))
		if l.Shared {
			better := s.better(&rows[0], at.index, &position{kept.Key, member}, at.counts[1])
			scoreboard.ShareRanks(p.Neighbours, better+1)
		}
	}
	return p, nil
}

// List reads the standings of users.
func (r *Boards) List(
	ctx context.Context, l piece.Layout, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	of := lookup{users: users, place: func(i int, raw string) (position, bool) { return ranked(l, users[i], raw) }}
	if err := r.look(ctx, l, &of); err != nil {
		return nil, err
	}
	s := of.snapshot
	list := &scoreboard.List{
		Board: l.Board, Epoch: s.top.epoch, Version: s.top.version, AsOf: s.asOf, Total: s.total(), State: s.state,
	}
	var members map[scoreboard.UserID]string // in the order of those with the same rank
	if l.Shared {
		members = make(map[scoreboard.UserID]string, len(users))
	}
	for i, user := range users {
		if of.counts[i] < 0 {
			list.Missing = append(list.Missing, user)
			continue
		}
		kept, err := piece.ParseState(of.states[i], widthOf(l))
		if err != nil {
			return nil, err
		}
		rank := of.counts[i]
		if l.Shared {
			rank++
			members[user] = kept.Prefix + string(user)
		}
		pair := s.top.orders.Pair(kept.Key, kept.Prefix)
		list.Entries = append(list.Entries, scoreboard.Entry{
			Rank: rank, User: user, Score: pair.Score, Subscore: pair.Subscore,
		})
	}
	slices.SortFunc(list.Entries, func(a, b scoreboard.Entry) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(members[a.User], members[b.User]))
	})
	return list, nil
}

// Ranks is what ranks.lua computes for a board in one piece: keys are those of
// standings that were just recorded, nil for the current rank.
func (r *Boards) Ranks(
	ctx context.Context, l piece.Layout, users []scoreboard.UserID, keys []*piece.Keys,
) ([]*int64, error) {
	of := make([]*lookup, len(users))
	for i, user := range users {
		of[i] = &lookup{users: []scoreboard.UserID{user}, place: func(_ int, raw string) (position, bool) {
			if recorded(l, user, raw, keys[i]) {
				return upToKeys(l, *keys[i]), true
			}
			return ranked(l, user, raw)
		}}
		if keys[i] != nil {
			of[i].guess = new(upToKeys(l, *keys[i])) // most are ranked before they are applied
		}
	}
	if err := r.look(ctx, l, of...); err != nil {
		return nil, err
	}
	ranks := make([]*int64, len(users))
	for i, user := range users {
		rank, raw := of[i].counts[0], of[i].states[0]
		if rank < 0 {
			continue
		}
		now := recorded(l, user, raw, keys[i])
		if now || l.Shared {
			rank++
		}
		if old, ok := standing(l, user, raw); now && ok && compareRows(row(old), row(upToKeys(l, *keys[i]))) <= 0 {
			rank-- // the user's own old entry is among those counted
		}
		ranks[i] = &rank
	}
	return ranks, nil
}

// upToKeys is where the rank of a standing of some keys is counted that was just recorded.
func upToKeys(l piece.Layout, keys piece.Keys) position {
	switch {
	case l.Subscore == "" && l.Shared:
		return *aheadOf(l, keys.Key, "")
	case l.Subscore == "":
		return position{key: keys.Key}
	case l.Shared:
		return *aheadOf(l, keys.Key, piece.SubPrefix(keys.SubKey))
	}
	return position{keys.Key, piece.SubPrefix(keys.SubKey) + behindAll}
}

// behindAll is behind every time and user.
const behindAll = "\xff\xff\xff\xff\xff\xff\xff\xff\xff"

// recorded reports whether a user's standing of some keys, if there is one, was not applied yet.
func recorded(l piece.Layout, user scoreboard.UserID, raw string, keys *piece.Keys) bool {
	if keys == nil {
		return false
	}
	at, ranked := standing(l, user, raw)
	same := at.key == keys.Key && (l.Subscore == "" || strings.HasPrefix(at.member, piece.SubPrefix(keys.SubKey)))
	return !ranked || !same
}
