package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The kinds of ledger rows with the source admin, as their action begins.
const (
	actionAdjust   = "adjust"
	actionReversal = "reversal:" // and the event that is reversed
	actionUndo     = "undo:"     // and the event that counts again
)

// amend runs items of an operator through a transaction of their own: the
// locks and looks of Record, then decide, which fills in the outcomes and rows
// and may write more, then the commit.
func (s *Store) amend(ctx context.Context, items []scoreboard.Increment, decide func(context.Context, *pgxpool.Conn, *recording) error) ([]scoreboard.Outcome, error) {
	var outcomes []scoreboard.Outcome
	err := s.insist(ctx, func() error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		r := newRecording(items, s.o.Shards)
		if err = s.lockAndLook(ctx, conn, r); err == nil {
			err = decide(ctx, conn, r)
		}
		if err == nil {
			r.settle()
			err = s.write(ctx, conn, r)
		}
		if err != nil {
			abandon(conn)
			return err
		}
		outcomes = r.outcomes
		return nil
	})
	return outcomes, err
}

// amendTries bounds how often an operator's change waits for a lock that others
// hold too long, or is run again after a lost connection.
const amendTries = 20

func (s *Store) insist(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == amendTries || !errors.Is(err, errUsersLocked) && !mayRunAgain(err) {
			return err
		}
		select {
		case <-time.After(10*time.Millisecond + rand.N(40*time.Millisecond)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// standing is what a score on a board comes to.
type standing struct {
	score   scoreboard.Score
	had     bool      // there is one
	reached time.Time // when it was
}

// amendScore appends the row that takes a user's score to where it belongs.
func (r *recording) amendScore(in *scoreboard.Increment, hash [16]byte, board *scoreboard.Board, to standing) scoreboard.Receipt {
	user, s := r.users[in.User], r.scores[scoreKey{in.User, board.ID}]
	receipt := scoreboard.Receipt{
		User: in.User, Board: board.ID, Event: in.Event,
		NewScore: to.score, Applied: int64(to.score - s.score), RecordedAt: user.time,
	}
	if s.had || board.Mode == scoreboard.ModeIncrement {
		previous := s.score
		receipt.Previous = &previous
	}
	hidden := user.status == statusBanned || !to.had
	changed := s.version == 0 || to.score != s.score || hidden != s.hidden ||
		board.Mode != scoreboard.ModeIncrement && to.had && !to.reached.Equal(s.reached)
	if changed {
		s.revision++
		s.reached = to.reached
	}
	s.had, s.score, s.hidden = to.had, to.score, hidden
	s.version++
	receipt.Version = s.version
	s.lastRow = r.rows.add(in, hash, receipt, board.Order.Key(to.score), s, changed, r.shard(in.User))
	r.rows.hide(s.lastRow, hidden, !to.had)
	return receipt
}

// openExactly returns a board that takes writes, by its own name.
func (r *recording) openExactly(name scoreboard.BoardID) (*scoreboard.Board, error) {
	board, ok := r.boards[name]
	if !ok {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "there is no board %s", name)
	}
	if board.Status != scoreboard.StatusActive {
		return nil, scoreboard.Errorf(scoreboard.CodeBoardClosed, "board %s is %s", name, board.Status)
	}
	return board, nil
}

// knows says why nothing can be amended for a user: there is none, or no more.
func (r *recording) knows(user scoreboard.UserID) error {
	u := r.users[user]
	if u.created {
		return noUser(user)
	}
	if u.status == statusErased {
		return scoreboard.Errorf(scoreboard.CodeGone, "user %s is erased", user)
	}
	return nil
}

func noUser(user scoreboard.UserID) error {
	return scoreboard.Errorf(scoreboard.CodeNotFound, "there is no user %s", user)
}
