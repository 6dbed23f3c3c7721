package partitions

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// condition is what Unhealthy says about a board.
type condition int

const (
	ConditionHealthy condition = iota
	ConditionMissing
	ConditionSuspect
	ConditionUnknown
	ConditionBroken // with the error that says why, where it is known
)

// ConditionOf checks a board that the catalog has in partitions. One that is laid out
// otherwise is suspect: a rebuild gives it its partitions while it stays online.
//
// A merged top that lacks what its partitions have is merged: its process died before it could.
func (r *Boards) ConditionOf(
	ctx context.Context, b *scoreboard.Board, trusted map[int]*piece.Holder,
) (condition, error) {
	now, divided, err := r.layouts.Learn(ctx, b.ID)
	switch {
	case piece.IsBroken(err):
		return ConditionBroken, err
	case err != nil:
		return ConditionUnknown, err
	}
	want, wantsParts := piece.LayoutOf(b)
	if !divided { // in one piece, or not loaded
		n, err := r.Redis.Exists(ctx, r.Keys.Live(b.ID)[0]).Result()
		switch {
		case err != nil:
			return ConditionUnknown, piece.Translate(fmt.Errorf("check board %s: %w", b.ID, err))
		case n == 0:
			return ConditionMissing, nil
		case !wantsParts: // a key of it is of another type, or it was in partitions a moment ago
			return ConditionBroken, nil
		}
		return ConditionSuspect, nil
	}
	got, err := r.ask(ctx, now, &query{})
	if piece.IsBroken(err) {
		return ConditionBroken, err
	}
	if err != nil {
		return ConditionUnknown, piece.Translate(fmt.Errorf("check board %s: %w", b.ID, err))
	}
	if !got.complete() || !got.sameEpoch() || got.top.orders.Subscore != b.Subscore {
		return ConditionMissing, nil
	}
	bases := []*piece.Basis{&got.top.Basis}
	names := []scoreboard.BoardID{b.ID}
	for i, p := range got.parts {
		bases, names = append(bases, &p.Basis), append(names, now.Part(i))
	}
	found := ConditionHealthy
	for i, name := range names {
		switch holder := trusted[r.Keys.Bucket(name)]; {
		case holder == nil && now == want:
			return ConditionUnknown, nil
		case holder != nil && holder.Doubts(bases[i]):
			found = ConditionSuspect
		}
	}
	if !wantsParts || now != want {
		return ConditionSuspect, nil
	}
	if !dominates(got.top.seqs, got.seqs()) || got.top.seqs == nil {
		if err := r.MergeTop(ctx, now, &Merging{}); err != nil && !errors.Is(err, scoreboard.ErrNotLoaded) {
			return found, err
		}
	}
	return found, nil
}

// IsLoaded reports whether Redis holds anything of a board in partitions.
func (r *Boards) IsLoaded(ctx context.Context, l piece.Layout) (bool, error) {
	keys := []string{r.Keys.Top(l.Board), r.Keys.Live(l.Board)[0]}
	for _, name := range l.Parts() {
		keys = append(keys, r.Keys.Live(name)[0])
	}
	found := make([]*redis.IntCmd, len(keys))
	_, err := r.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			found[i] = pipe.Exists(ctx, key)
		}
		return nil
	})
	if err != nil {
		return false, piece.Translate(fmt.Errorf("check board %s: %w", l.Board, err))
	}
	for _, n := range found {
		if n.Val() > 0 {
			return true, nil
		}
	}
	return false, nil
}

// Status reports the state of a board in partitions.
func (r *Boards) Status(ctx context.Context, l piece.Layout) (*scoreboard.RankingStatus, error) {
	status := &scoreboard.RankingStatus{Board: l.Board, State: scoreboard.StateRebuilding, Partitions: l.Count}
	if shadow, err := r.Redis.Exists(ctx, r.Keys.Shadow(l.Board)[0]).Result(); err == nil {
		status.Rebuilding = shadow == 1
	}
	buckets := r.Keys.Of([]scoreboard.Board{{ID: l.Board, Partitions: l.Count}})
	trusted, err := r.Trust(ctx, buckets)
	if err != nil {
		return nil, err
	}
	s, err := r.readSnapshot(ctx, l, &query{anySubscore: true})
	if errors.Is(err, scoreboard.ErrNotLoaded) {
		return status, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ranking status of board %s: %w", l.Board, err)
	}
	status.State, status.AsOf, status.Members = s.state, s.asOf, s.total()
	status.Epoch, status.Version, status.Built = s.top.epoch, s.top.version, s.top.Built
	keys := []string{r.Keys.Top(l.Board)}
	for i, p := range s.parts {
		keys = append(keys, r.Keys.Live(l.Part(i))...)
		status.Suspect = status.Suspect || trusted[r.Keys.Bucket(l.Part(i))].Doubts(&p.Basis)
	}
	if status.Suspect = status.Suspect || trusted[r.Keys.Bucket(l.Board)].Doubts(&s.top.Basis); status.Suspect {
		status.State = scoreboard.StateCatchingUp
	}
	for _, key := range keys {
		if n, err := r.Redis.MemoryUsage(ctx, key).Result(); err == nil { // fails as for a board in one piece
			status.Bytes += n
		}
	}
	return status, nil
}
