package store

import (
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// missingInstance says that nobody has made the period of a family that an
// increment belongs to: whoever makes them has been away for all of the one
// before.
type missingInstance struct{ family *scoreboard.Board }

func (e *missingInstance) Error() string {
	return fmt.Sprintf("the current period of board %s is not made yet", e.family.ID)
}

// target returns the board that an increment lands on where it asks for name,
// or why it cannot: a not_found, or a board_closed. On a family that is the
// instance of the time at which it is recorded; of one that was accepted
// earlier, the instance of then, as long as that is not closed.
func (r *recording) target(in *scoreboard.Increment, name scoreboard.BoardID) (*scoreboard.Board, error) {
	board := r.boards[name]
	if board == nil {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "there is no board %s", name)
	}
	if board.Status != scoreboard.StatusActive {
		return nil, scoreboard.Errorf(scoreboard.CodeBoardClosed, "board %s is %s", name, board.Status)
	}
	if !board.IsFamily() {
		return board, nil
	}
	recorded := r.users[in.User].time
	at := recorded
	if !in.Accepted.IsZero() && in.Accepted.Before(recorded) {
		at = in.Accepted
	}
	for _, instance := range r.spans[name] {
		if !instance.Span().Contains(at) {
			continue
		}
		if instance.Status != scoreboard.StatusActive {
			return nil, scoreboard.Errorf(scoreboard.CodeBoardClosed, "board %s is %s", instance.ID, instance.Status)
		}
		return instance, nil
	}
	switch {
	case at.Before(recorded):
		return nil, scoreboard.Errorf(scoreboard.CodeBoardClosed, "the period of board %s in which this was accepted is closed", name)
	case board.Period == scoreboard.PeriodSeason:
		return nil, scoreboard.Errorf(scoreboard.CodeBoardClosed, "no season of board %s is under way", name)
	}
	return nil, &missingInstance{board}
}

// instances returns every user with every instance that the batch wants.
func (r *recording) instances() (*pairs, error) {
	p := &pairs{scores: r.scores}
	for i := range r.items {
		in := &r.items[i]
		for _, name := range in.Boards {
			board, err := r.target(in, name)
			switch missing, is := err.(*missingInstance); { //nolint:errorlint // target returns it as it is
			case is:
				return nil, missing
			case err == nil && board.ID != name:
				p.want(in.User, board.ID)
			}
		}
	}
	return p, nil
}
