package whole

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// FoundBasis is the basis of a board; nil for a board that Redis does not hold, or holds without
// the subscores that it has.
type FoundBasis struct {
	*piece.Basis
	Err error // the board could not be read
}

// Bases returns what each board was built on, and the first error.
func (r *Boards) Bases(ctx context.Context, boards []scoreboard.Board) (found []FoundBasis, err error) {
	found = make([]FoundBasis, 0, len(boards))
	for some := range slices.Chunk(boards, piece.BoardsPerTrip) {
		answers := make([]*redis.Cmd, len(some))
		// Each answer has its own error.
		_ = r.Pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
			for i := range some {
				answers[i] = run(r.basis, r.Keys.Live(some[i].ID))
			}
		})
		for i, answer := range answers {
			one := basisOf(answer, piece.Layout{Subscore: some[i].Subscore})
			if one.Err != nil && !piece.IsBroken(one.Err) && err == nil {
				err = piece.Translate(fmt.Errorf("check %d boards: %w", len(some), one.Err))
			}
			found = append(found, one)
		}
	}
	return found, err
}

func basisOf(answer *redis.Cmd, l piece.Layout) FoundBasis {
	values, err := answer.Slice()
	if errors.Is(err, redis.Nil) {
		return FoundBasis{}
	}
	if err != nil {
		return FoundBasis{Err: err}
	}
	reply, err := piece.NewReply(values, 6)
	if err != nil {
		return FoundBasis{Err: err}
	}
	b := reply.Basis()
	order, _ := reply.Values[0].(string)
	if reply.Err == nil && l.Check(piece.ParseOrders(order)) != nil {
		return FoundBasis{}
	}
	return FoundBasis{&b, reply.Err}
}
