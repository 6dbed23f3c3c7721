package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Decide decides every item in order and finalises the rows.
func (b *Batch) Decide() {
	for i := range b.Items {
		receipts, err := b.decide(&b.Items[i], b.Hashes[i])
		b.Outcomes[i] = scoreboard.Outcome{Receipts: receipts, Err: err}
	}
	b.Finalize()
}

// Finalize marks the last row of each score, and the users that have one.
func (b *Batch) Finalize() {
	for k, s := range b.scores {
		if s.lastRow >= 0 {
			b.Rows.Last[s.lastRow] = true
			b.users[k.User].used = true
		}
	}
}

func (b *Batch) decide(in *scoreboard.Increment, hash [16]byte) ([]scoreboard.Receipt, error) {
	user := b.users[in.User]
	if user.status == scoreboard.UserErased {
		return nil, erased(in.User)
	}
	if user.status != scoreboard.UserActive {
		return nil, &scoreboard.Error{
			Code: wire.CodeForbidden, Field: "user_id", Message: "user " + string(in.User) + " is " + user.status,
		}
	}
	if known := b.known[keyOf(in)]; known != nil {
		return known.replay(in, hash)
	}
	// Before the checks below: a repeat gets its receipts whatever has changed since.
	if in.Objection != nil {
		return nil, in.Objection
	}
	if !in.Accepted.IsZero() && b.revoked[in.KeyID] {
		return nil, scoreboard.Errorf(wire.CodeInvalidSignature,
			"key %s was revoked before the event was recorded", in.KeyID)
	}
	if err := b.Tokens.check(in); err != nil {
		return nil, err
	}
	if err := b.Activity.checkRules(in, user.time); err != nil {
		return nil, err
	}
	n := len(in.Boards) + len(in.Matched)
	next := make([]scoreboard.Pair, n)
	boards := make([]*scoreboard.Board, n)
	until := make([]time.Time, n) // of actions
	for i, name := range in.Boards {
		var err error
		if boards[i], err = b.target(in, name); err != nil {
			return nil, err
		}
		if boards[i].Mode != boards[0].Mode {
			return nil, scoreboard.Errorf(wire.CodeRuleViolated, "all boards of an event must have the same mode")
		}
		if next[i], until[i], err = b.next(in, boards[i]); err != nil {
			return nil, err
		}
	}
	n = len(in.Boards)
	for _, name := range in.Matched {
		board, err := b.target(in, name)
		if err == nil {
			boards[n] = board
			next[n], until[n], err = b.next(in, board)
		}
		switch wire.CodeOf(err) {
		case "":
			n++
		case wire.CodeBoardClosed: // operators who close it must not stop all writes
		case wire.CodeNotJoined: // the event does not name it, and who has not joined plays elsewhere
		default:
			return nil, byRule(name, err)
		}
	}
	boards, next, until = boards[:n], next[:n], until[:n]
	if err := in.CheckMetadata(boards); err != nil {
		return nil, err
	}
	if err := in.CheckSubscores(boards); err != nil {
		return nil, err
	}
	if in.OnlyIfBetter {
		if standing := b.standing(in, boards, next); standing != nil {
			return standing, nil
		}
	}
	if err := b.detectAnomalies(in, boards, next); err != nil {
		return nil, err
	}
	known := &knownEvent{hash: hash}
	for i, board := range boards {
		b.scores[ScoreKey{in.User, board.ID}].ActionUntil = until[i]
		known.receipts = append(known.receipts, b.record(in, hash, board, next[i]))
	}
	b.known[keyOf(in)] = known
	b.Tokens.use(in)
	b.Activity.add(in, known.receipts)
	receipts := make([]scoreboard.Receipt, len(known.receipts))
	copy(receipts, known.receipts)
	return receipts, nil
}

// next returns a user's score and subscore on a board after an increment, and the earliest end of its
// action.
func (b *Batch) next(
	in *scoreboard.Increment, board *scoreboard.Board,
) (next scoreboard.Pair, until time.Time, err error) {
	if err := board.Require.Check(in); err != nil {
		return next, until, err
	}
	if board.Join.Required && !b.players[ScoreKey{in.User, board.ID}] {
		return next, until, board.NotJoined(in.User)
	}
	if board.Attempts > 0 {
		used := b.scores[ScoreKey{in.User, board.ID}].attempts()
		if err := board.CheckAttempts(used, b.nextReset(board)); err != nil {
			return next, until, err
		}
	}
	if err := board.CheckDelta(in.Delta, in.Subscore); err != nil {
		return next, until, err
	}
	s := b.scores[ScoreKey{in.User, board.ID}]
	if next, err = board.Next(s.pair(), s.Exists, in.Submitted()); err != nil {
		return next, until, err
	}
	action := in.ActionTime
	if in.ActionID != [16]byte{} {
		action.Min = max(action.Min, board.Require.MinActionTime)
	}
	until, err = action.Until(s.ActionUntil, board.ID)
	return next, until, err
}

// byRule adds the name of a board that a rule adds to why it rejects an increment.
func byRule(board scoreboard.BoardID, err error) error {
	var e *scoreboard.Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Message = fmt.Sprintf("board %s, whose rule the increment matches: %s", board, e.Message)
	return &named
}

// standing returns what a user has on boards, or nil if the next scores differ.
func (b *Batch) standing(
	in *scoreboard.Increment, boards []*scoreboard.Board, next []scoreboard.Pair,
) []scoreboard.Receipt {
	receipts := make([]scoreboard.Receipt, len(boards))
	for i, board := range boards {
		s := b.scores[ScoreKey{in.User, board.ID}]
		if !s.Exists || s.pair() != next[i] {
			return nil
		}
		receipts[i] = newReceipt(in, board, s, s.pair(), s.ReachedAt)
		receipts[i].Version, receipts[i].NotRecorded = s.Version, true
	}
	return receipts
}

// Replay returns the answer to a repeat: its original receipts, or a conflict if
// the payload differs. Known is false for an event that has not been recorded.
func (b *Batch) Replay(i int) (receipts []scoreboard.Receipt, known bool, err error) {
	in := &b.Items[i]
	e := b.known[keyOf(in)]
	if e == nil {
		return nil, false, nil
	}
	receipts, err = e.replay(in, b.Hashes[i])
	return receipts, true, err
}

// replay returns the original receipts in the order of the request's boards, then those of
// boards that rules have added, by name.
func (e *knownEvent) replay(in *scoreboard.Increment, hash [16]byte) ([]scoreboard.Receipt, error) {
	if hash != e.hash {
		return nil, scoreboard.Errorf(wire.CodeEventConflict,
			"event %s was already recorded with another payload", in.Event.Text)
	}
	receipts := make([]scoreboard.Receipt, 0, len(e.receipts))
	for _, name := range in.Boards {
		for i := range e.receipts {
			if e.receipts[i].Board.Family() == name {
				receipts = append(receipts, e.receipts[i])
				break
			}
		}
	}
	requested := len(receipts)
	for i := range e.receipts {
		if !slices.Contains(in.Boards, e.receipts[i].Board.Family()) {
			receipts = append(receipts, e.receipts[i])
		}
	}
	slices.SortFunc(receipts[requested:], func(a, b scoreboard.Receipt) int { return cmp.Compare(a.Board, b.Board) })
	for i := range receipts {
		receipts[i].Event, receipts[i].Replayed = in.Event, true
	}
	return receipts, nil
}

// record moves one user's score on one board and appends the row.
func (b *Batch) record(
	in *scoreboard.Increment, hash [16]byte, board *scoreboard.Board, next scoreboard.Pair,
) scoreboard.Receipt {
	user, s := b.users[in.User], b.scores[ScoreKey{in.User, board.ID}]
	receipt := newReceipt(in, board, s, next, user.time)
	moved := !s.Exists || next != s.pair()
	changed := moved || user.private != s.Hidden
	if moved {
		s.ReachedAt = user.time
	}
	if changed {
		s.Revision++
	}
	s.Exists, s.Value, s.Subscore, s.Hidden = true, next.Score, next.Subscore, user.private
	s.Version++
	receipt.Version = s.Version
	s.lastRow = b.Rows.add(in, hash, receipt, board, s, changed, Shard(in.User, b.shards))
	var kept scoreboard.Metadata
	if board.KeepsMetadata() {
		kept = in.Metadata
	}
	s.Metadata = board.MetadataAfter(s.Metadata, kept, moved)
	b.Rows.describe(s.lastRow, kept, s.Metadata)
	if user.private {
		b.Rows.hide(s.lastRow, true, false)
	} else if board.League != nil {
		b.Joins.add(in, board)
	}
	return receipt
}

// newReceipt fills in a receipt except for its version. On an increment board a
// user's first event starts from 0; elsewhere there is no previous score.
func newReceipt(
	in *scoreboard.Increment, board *scoreboard.Board, s *Score, next scoreboard.Pair, at time.Time,
) scoreboard.Receipt {
	receipt := scoreboard.Receipt{
		User: in.User, Board: board.ID, Event: in.Event,
		NewScore: next.Score, NewSubscore: next.Subscore, Applied: int64(next.Score - s.Value), RecordedAt: at,
	}
	if s.Exists || board.Mode == scoreboard.ModeIncrement {
		previous := s.Value
		receipt.Previous = &previous
		if board.HasSubscores() {
			receipt.PreviousSubscore = new(s.Subscore)
		}
	}
	return receipt
}

func erased(user scoreboard.UserID) error {
	return scoreboard.Errorf(wire.CodeGone, "user %s is erased", user)
}
