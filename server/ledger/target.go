package ledger

import (
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// MissingInstanceError means that the family's instance for an increment does not
// exist, because none were created ahead for a whole period. The caller creates
// it and runs the batch again.
type MissingInstanceError struct{ Family *scoreboard.Board }

func (e *MissingInstanceError) Error() string {
	return fmt.Sprintf("the current instance of board %s does not exist yet", e.Family.ID)
}

// Retryable reports true: the batch succeeds once the instance exists.
func (e *MissingInstanceError) Retryable() bool { return true }

// target returns the board that an increment to name counts on, or a not_found or
// board_closed. For a family that is the instance at the time of recording, by the
// database's clock; for an increment accepted earlier, the instance at the time of
// acceptance while that is not closed. It is a period_ended if the increment must count in
// another one.
//
// A user's own time may be ahead of the clock, by days if the clock has gone back. It
// does not decide: everyone counts in the same instance. If the clock has gone back
// into a period that is closed already, the next one that is not closed is current.
func (b *Batch) target(in *scoreboard.Increment, name scoreboard.BoardID) (*scoreboard.Board, error) {
	board, err := b.openBoard(name)
	if err != nil {
		return board, err
	}
	if !board.IsFamily() {
		return board, in.CheckPeriodic(board)
	}
	now := b.users[in.User].now()
	at := now
	if !in.Accepted.IsZero() && in.Accepted.Before(now) {
		at = in.Accepted
	}
	for i, instance := range b.instances[name] {
		if !instance.Span().Contains(at) {
			continue
		}
		for _, later := range b.instances[name][i+1:] { // by their ends
			if instance.Closed.After(now) { // the clock has gone back
				instance = later
			}
		}
		if err := in.CheckPeriod(name, instance.ID); err != nil {
			return nil, err
		}
		if instance.Status != scoreboard.StatusActive {
			return nil, scoreboard.Errorf(wire.CodeBoardClosed, "board %s is %s", instance.ID, instance.Status)
		}
		return instance, nil
	}
	switch {
	case at.Before(now):
		return nil, scoreboard.Errorf(wire.CodeBoardClosed,
			"the period of board %s in which the increment was accepted is closed", name)
	case board.Period == scoreboard.PeriodSeason:
		if err := in.CheckPeriod(name, ""); err != nil {
			return nil, err
		}
		return nil, scoreboard.Errorf(wire.CodeBoardClosed, "board %s has no current season", name)
	}
	return nil, &MissingInstanceError{board}
}

// nextReset returns when the period after that of an instance begins; zero for a board
// without periods, and for a season after which none is planned.
func (b *Batch) nextReset(board *scoreboard.Board) time.Time {
	if board.Period != scoreboard.PeriodSeason {
		return board.PeriodEnd
	}
	for _, later := range b.instances[board.Family] { // by their ends
		if !later.PeriodStart.Before(board.PeriodEnd) {
			return later.PeriodStart
		}
	}
	return time.Time{}
}

// openBoard returns the board called name if it accepts writes.
func (b *Batch) openBoard(name scoreboard.BoardID) (*scoreboard.Board, error) {
	board, ok := b.boards[name]
	if !ok {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s not found", name)
	}
	if !b.Computed {
		if err := board.CheckUsers(); err != nil {
			return nil, err
		}
	}
	if board.Status != scoreboard.StatusActive {
		return nil, scoreboard.Errorf(wire.CodeBoardClosed, "board %s is %s", name, board.Status)
	}
	return board, nil
}

// InstanceScores returns the scores on instances of families that must still be
// read: the instance depends on the users' times, known only after the first
// reads. Players then has the pairs of which it must be read who has joined. A
// MissingInstanceError names an instance that does not exist.
func (b *Batch) InstanceScores() (ScorePairs, error) {
	p := ScorePairs{scores: b.scores}
	if len(b.instances) == 0 {
		return p, nil
	}
	for i := range b.Items {
		in := &b.Items[i]
		for _, name := range in.Targets() {
			board, err := b.target(in, name)
			switch missing, is := err.(*MissingInstanceError); { //nolint:errorlint // target does not wrap it
			case is:
				return p, missing
			case err == nil && board.ID != name:
				if p.want(in.User, board.ID) && board.Join.Required {
					b.Players.add(in.User, board.ID)
				}
			}
		}
	}
	return p, nil
}
