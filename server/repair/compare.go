package repair

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// States is the store, user by user.
type States interface {
	States(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) ([]scoreboard.Change, error)
}

// Kept is what the ranking keeps, and the way to put it right.
type Kept interface {
	States(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) ([]scoreboard.RankedState, error)
	Repair(ctx context.Context, truth *scoreboard.Change, wrong scoreboard.RankedState) (bool, error)
}

// How long the pipeline is given to bring the ranking up to a state of the
// store before the two are said to differ.
const (
	settleTries = 4
	settlePause = 500 * time.Millisecond
)

// drifted is a user whose state in the ranking is not that of the store, and
// does not become it.
type drifted struct {
	truth scoreboard.Change // Revision 0: the store has none
	kept  scoreboard.RankedState
}

// differing returns those of users that differ, and still do after so many
// tries: the ranking is asked first and the store afterwards, so what is only
// late or ahead of an old snapshot settles.
func differing(ctx context.Context, truth States, kept Kept, board scoreboard.BoardID, users []scoreboard.UserID, tries int) ([]drifted, error) {
	var last []drifted
	first := make(map[scoreboard.UserID]int64) // what the ranking had to reach, as it was first seen
	for try := 0; ; try++ {
		found, err := kept.States(ctx, board, users)
		if err != nil {
			return nil, err
		}
		stored, err := truth.States(ctx, board, users)
		if err != nil {
			return nil, err
		}
		now := make(map[scoreboard.UserID]scoreboard.Change, len(stored))
		for _, c := range stored {
			now[c.User] = c
		}
		last = last[:0]
		var again []scoreboard.UserID
		for i, user := range users {
			c, ok := now[user]
			if !ok {
				c = scoreboard.Change{Type: scoreboard.ChangeScore, Board: board, User: user}
			}
			if _, seen := first[user]; !seen {
				first[user] = c.Revision
			}
			// A user who never stops scoring is never caught up with, but followed.
			followed := try > 0 && found[i].Revision >= first[user] && found[i].Revision < c.Revision
			if !found[i].Agrees(&c) && !followed {
				last, again = append(last, drifted{c, found[i]}), append(again, user)
			}
		}
		if len(again) == 0 || try == tries {
			return last, nil
		}
		users = again
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// kind names what is wrong.
func (d *drifted) kind() string {
	switch {
	case d.truth.Revision == 0:
		return "not_in_store"
	case d.kept.Raw == "":
		return "not_in_ranking"
	case d.kept.Revision < d.truth.Revision:
		return "behind"
	case d.kept.Revision > d.truth.Revision:
		return "ahead"
	}
	return "other"
}

func (d *drifted) describe() string {
	return fmt.Sprintf("the store has key %d revision %d, the ranking key %d revision %d (ranked: %t)",
		d.truth.Key, d.truth.Revision, d.kept.Key, d.kept.Revision, d.kept.Ranked)
}
