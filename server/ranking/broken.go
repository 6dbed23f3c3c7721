package ranking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Somebody who writes to the same Redis can leave a key of a board that no script can work with:
// of another type, or with a malformed value. Only that board is to suffer. After a few attempts
// it is set aside: its keys are removed, so that it is not loaded, and a rebuild makes it anew
// from the store, which has every change.

// broken are parts of what Redis answers where a key is of another type or malformed. Any other
// error may be that of the server, a right that is missing, or ours, and removes nothing.
var broken = []string{
	"WRONGTYPE", "not an integer", "not a valid float", "attempt to ", "bad argument #", "is malformed",
}

// isBroken reports whether an error is about what a board's keys hold.
func isBroken(err error) bool {
	if err == nil || outage(err) {
		return false
	}
	return errors.Is(err, errNoLayout) ||
		slices.ContainsFunc(broken, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// asideKey is a hash: when a board was set aside, in seconds, and why.
const asideKey = "sb:aside"

// asideLife is how long boards that were set aside are reported.
const asideLife = 24 * time.Hour

// OnSetAside calls do for each board that this process sets aside. It is called before the
// ranking is used.
func (r *Ranking) OnSetAside(do func(board scoreboard.BoardID, reason error)) { r.onSetAside = do }

// setAside removes a board whose keys are broken, with the shadow of a rebuild, which may lack the
// changes that could not be applied.
func (r *Ranking) setAside(ctx context.Context, board scoreboard.BoardID, reason error) error {
	if err := r.drop(ctx, &scoreboard.Board{ID: board}); err != nil {
		return translate(fmt.Errorf("set board %s aside: %w", board, err))
	}
	r.onSetAside(board, reason)
	text := strconv.FormatInt(time.Now().Unix(), 10) + " " + reason.Error()
	_ = r.rdb.HSet(ctx, asideKey, string(board), text).Err() // a report; the board is rebuilt without it
	_ = r.rdb.Expire(ctx, asideKey, asideLife).Err()         // likewise
	return nil
}

// failed translates the error of a rebuild, and sets the board aside if its keys are broken: the
// next attempt finds none.
func (r *Ranking) failed(ctx context.Context, board scoreboard.BoardID, err error) error {
	if isBroken(err) {
		err = errors.Join(err, r.setAside(ctx, board, err))
	}
	return translate(err)
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
func (r *Ranking) setBrokenAside(ctx context.Context, b *applying) error {
	for board, reason := range b.broken {
		if err := r.setAside(ctx, board, reason); err != nil {
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

// RecentlySetAside lists the boards that were set aside in the last day, by any process, the
// latest first.
func (r *Ranking) RecentlySetAside(ctx context.Context) ([]SetAside, error) {
	found, err := r.rdb.HGetAll(ctx, asideKey).Result()
	if err != nil {
		return nil, translate(fmt.Errorf("list the boards that were set aside: %w", err))
	}
	var list []SetAside
	for board, text := range found {
		seconds, reason, _ := strings.Cut(text, " ")
		at, err := strconv.ParseInt(seconds, 10, 64)
		if err == nil && time.Since(time.Unix(at, 0)) < asideLife {
			list = append(list, SetAside{scoreboard.BoardID(board), time.Unix(at, 0).UTC(), reason})
		}
	}
	slices.SortFunc(list, func(a, b SetAside) int { return b.At.Compare(a.At) })
	return list, nil
}
