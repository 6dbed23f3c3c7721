package ranking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Somebody who writes to the same Redis can leave a key of a board that no script can work with:
// of another type, or with a malformed value. Only that board is to suffer. After a few attempts
// it is set aside: its keys are removed, so that it is not loaded, and the next rebuild loads it
// from the store, which has every change.

// asideKey is a hash: when a board was set aside, in seconds, and why.
const asideKey = "sb:aside"

// asideTTL is how long boards that were set aside are reported.
const asideTTL = 24 * time.Hour

// OnSetAside calls do for each board that this process sets aside. It is called before the
// ranking is used.
func (r *remover) OnSetAside(do func(board scoreboard.BoardID, reason error)) { r.onSetAside = do }

// setAside removes a board whose keys are broken, with the shadow of a rebuild, which may lack the
// changes that could not be applied.
func (r *remover) setAside(ctx context.Context, board scoreboard.BoardID, reason error) error {
	if err := r.drop(ctx, &scoreboard.Board{ID: board}); err != nil {
		return piece.Translate(fmt.Errorf("set board %s aside: %w", board, err))
	}
	r.onSetAside(board, reason)
	r.report(ctx, board, reason)
	return nil
}

// report has a board listed by RecentlySetAside.
func (r *remover) report(ctx context.Context, board scoreboard.BoardID, reason error) {
	text := strconv.FormatInt(time.Now().Unix(), 10) + " " + reason.Error()
	_ = r.Redis.HSet(ctx, asideKey, string(board), text).Err() // the board is rebuilt without it
	_ = r.Redis.Expire(ctx, asideKey, asideTTL).Err()          // likewise
}

// IsBroken reports whether an error is about what the keys of a board hold: a rebuild replaces them.
func IsBroken(err error) bool { return piece.IsBroken(err) }

// failed translates the error of a rebuild, and sets the board aside if its keys are broken: the
// next attempt finds none.
func (r *remover) failed(ctx context.Context, board scoreboard.BoardID, err error) error {
	if piece.IsBroken(err) {
		err = errors.Join(err, r.setAside(ctx, board, err))
	}
	return piece.Translate(err)
}

// fail notes that a board could not be changed because of what its keys hold, or because it is
// being laid out otherwise: Apply finds out by trying again.
func (b *applying) fail(board scoreboard.BoardID, err error) {
	if b.broken == nil {
		b.broken = make(map[scoreboard.BoardID]error)
	}
	b.broken[board] = err
	b.moved = true
}

// setBrokenAside sets the boards of a batch aside that stay broken, with their changes: a rebuild
// started from now on includes them.
func (r *applier) setBrokenAside(ctx context.Context, b *applying) error {
	for board, reason := range b.broken {
		if err := r.broken.setAside(ctx, board, reason); err != nil {
			return err
		}
		b.rest = slices.DeleteFunc(b.rest, func(c scoreboard.Change) bool { return c.Board == board })
		b.notLoaded = append(b.notLoaded, board)
	}
	return nil
}

// SetAside is a board that was set aside.
type SetAside struct {
	Board  scoreboard.BoardID
	At     time.Time
	Reason string
}

// RecentlySetAside lists the boards that any process set aside in the last day, or found broken before it
// had to, the latest first.
func (r *remover) RecentlySetAside(ctx context.Context) ([]SetAside, error) {
	found, err := r.Redis.HGetAll(ctx, asideKey).Result()
	if err != nil {
		return nil, piece.Translate(fmt.Errorf("list the boards that were set aside: %w", err))
	}
	var list []SetAside
	for board, text := range found {
		seconds, reason, _ := strings.Cut(text, " ")
		at, err := strconv.ParseInt(seconds, 10, 64)
		if err == nil && time.Since(time.Unix(at, 0)) < asideTTL {
			list = append(list, SetAside{scoreboard.BoardID(board), time.Unix(at, 0).UTC(), reason})
		}
	}
	slices.SortFunc(list, func(a, b SetAside) int { return b.At.Compare(a.At) })
	return list, nil
}
