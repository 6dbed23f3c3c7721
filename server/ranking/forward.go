package ranking

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/partitions"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// forwardTo applies changes of a live board to the shadows of a rebuild that lays it out
// otherwise: elsewhere is what redirect.lua stored. A shadow that is gone was swapped in,
// and gets them as a live piece, or was lost with the rebuild.
func (r *applier) forwardTo(
	ctx context.Context, board scoreboard.BoardID, elsewhere string, changes piece.UserChanges, b *applying,
	merge func(name scoreboard.BoardID, changes piece.UserChanges, applied int64, forwarded bool),
) error {
	text, token, _ := strings.Cut(elsewhere, " ")
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 || count > scoreboard.MaxPartitions {
		return fmt.Errorf("the rebuild %q has no number of partitions", elsewhere)
	}
	p := &partitions.Relayout{To: piece.Layout{Board: board, Count: count}}
	pieces := make(map[scoreboard.BoardID]piece.UserChanges)
	for user, c := range changes {
		name := p.Piece(user)
		if pieces[name] == nil {
			pieces[name] = make(piece.UserChanges)
		}
		pieces[name][user] = c
	}
	names := make([]scoreboard.BoardID, 0, len(pieces))
	for name := range pieces {
		names = append(names, name)
	}
	var swapped []scoreboard.BoardID
	err = r.Each(ctx, names, func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		args := []any{token, int64(0)}
		var oldest time.Time
		for _, c := range pieces[name] {
			args = piece.AppendChange(args, c)
			if oldest.IsZero() || c.RecordedAt.Before(oldest) {
				oldest = c.RecordedAt
			}
		}
		args[1] = oldest.UnixMicro()
		return run(r.forward, r.Keys.Shadow(name), args...)
	}, func(name scoreboard.BoardID, n int64) error {
		switch {
		case n < -1:
			b.again(board, pieces[name], time.UnixMicro(-n))
		case n < 0:
			swapped = append(swapped, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range swapped {
		applied, elsewhere, err := parseApplied(r.applyTo(name).Run(ctx, r.Redis, r.applyKeys(name),
			applyArguments(board, pieces[name], &piece.Freshness{}, "", "")...))
		switch {
		case elsewhere != "": // and the next rebuild has begun
			b.moved = true
			b.again(board, pieces[name], time.Time{})
		case piece.IsDivided(err): // the rebuild was lost
		case err != nil:
			return err
		case applied < -1:
			b.again(board, pieces[name], time.UnixMicro(-applied))
		case applied >= 0:
			merge(name, pieces[name], applied, true)
		}
	}
	return nil
}
