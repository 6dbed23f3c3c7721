package ranking

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// condition is what Lost says about a board.
type condition int

const (
	conditionHealthy condition = iota
	conditionMissing
	conditionSuspect
	conditionUnknown
)

// conditionOf checks a board that the catalog has in partitions. One that is laid out
// otherwise is suspect: a rebuild gives it its partitions while it stays online.
//
// A head that lacks what its partitions have is merged: its process died before it could.
func (r *partitions) conditionOf(
	ctx context.Context, b *scoreboard.Board, trusted map[int]*holder,
) (condition, error) {
	now, divided, err := r.layouts.learn(ctx, b.ID)
	if err != nil {
		return conditionUnknown, err
	}
	want, wantsParts := layoutOf(b)
	if !divided { // in one piece, or not loaded
		n, err := r.rdb.Exists(ctx, r.keys.live(b.ID)[0]).Result()
		switch {
		case err != nil:
			return conditionUnknown, translate(fmt.Errorf("check board %s: %w", b.ID, err))
		case n == 0:
			return conditionMissing, nil
		}
		return conditionSuspect, nil
	}
	c, err := r.ask(ctx, now, &question{})
	if err != nil {
		return conditionUnknown, translate(fmt.Errorf("check board %s: %w", b.ID, err))
	}
	if !c.complete() || !c.sameEpoch() {
		return conditionMissing, nil
	}
	bases := []*basis{&c.head.basis}
	names := []scoreboard.BoardID{b.ID}
	for i, p := range c.parts {
		bases, names = append(bases, &p.basis), append(names, now.part(i))
	}
	found := conditionHealthy
	for i, name := range names {
		switch holder := trusted[r.keys.bucket(name)]; {
		case holder == nil && now == want:
			return conditionUnknown, nil
		case holder != nil && (bases[i].server != holder.server || bases[i].since < holder.adopted):
			found = conditionSuspect
		}
	}
	if !wantsParts || now != want {
		return conditionSuspect, nil
	}
	if !dominates(c.head.seqs, c.seqs()) || c.head.seqs == nil {
		if err := r.mergeHead(ctx, now, &merging{}); err != nil && !errors.Is(err, scoreboard.ErrNotLoaded) {
			return found, err
		}
	}
	return found, nil
}

// isLoaded reports whether Redis holds anything of a board in partitions.
func (r *partitions) isLoaded(ctx context.Context, l layout) (bool, error) {
	keys := []string{r.keys.head(l.board), r.keys.live(l.board)[0]}
	for _, name := range l.parts() {
		keys = append(keys, r.keys.live(name)[0])
	}
	found := make([]*redis.IntCmd, len(keys))
	_, err := r.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			found[i] = pipe.Exists(ctx, key)
		}
		return nil
	})
	if err != nil {
		return false, translate(fmt.Errorf("check board %s: %w", l.board, err))
	}
	for _, n := range found {
		if n.Val() > 0 {
			return true, nil
		}
	}
	return false, nil
}

// readStatus reports the state of a board in partitions.
func (r *partitions) readStatus(ctx context.Context, l layout) (*scoreboard.RankingStatus, error) {
	status := &scoreboard.RankingStatus{Board: l.board, State: scoreboard.StateRebuilding, Partitions: l.count}
	if shadow, err := r.rdb.Exists(ctx, r.keys.shadow(l.board)[0]).Result(); err == nil {
		status.Rebuilding = shadow == 1
	}
	buckets := r.keys.of([]scoreboard.Board{{ID: l.board, Partitions: l.count}})
	trusted, err := r.trust(ctx, buckets)
	if err != nil {
		return nil, err
	}
	s, err := r.readCut(ctx, l, &question{})
	if errors.Is(err, scoreboard.ErrNotLoaded) {
		return status, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ranking status of board %s: %w", l.board, err)
	}
	status.State, status.AsOf, status.Members = s.state, s.asOf, s.total()
	status.Epoch, status.Version, status.Built = s.head.epoch, s.head.version, s.head.built
	keys := []string{r.keys.head(l.board)}
	for i, p := range s.parts {
		keys = append(keys, r.keys.live(l.part(i))...)
		status.Suspect = status.Suspect || p.server != trusted[r.keys.bucket(l.part(i))].server
	}
	if status.Suspect = status.Suspect || s.head.server != trusted[r.keys.bucket(l.board)].server; status.Suspect {
		status.State = scoreboard.StateCatchingUp
	}
	for _, key := range keys {
		if n, err := r.rdb.MemoryUsage(ctx, key).Result(); err == nil { // fails as for a board in one piece
			status.Bytes += n
		}
	}
	return status, nil
}
