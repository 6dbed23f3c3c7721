package ledger

import (
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Ledger rows with the source admin are corrections; their action names the kind.
const (
	ActionAdjust   = scoreboard.ActionAdjust
	actionReversal = scoreboard.ActionReversal
	actionUndo     = scoreboard.ActionUndo
)

// Event is a recorded event that is to be reversed or restored.
type Event struct {
	User    scoreboard.UserID
	ID      [16]byte
	Boards  []scoreboard.BoardID
	Applied []scoreboard.Pair // on each of Boards
	Action  string
	Admin   bool // its source
}

// Key identifies the event.
func (e *Event) Key() EventKey { return EventKey{e.User, e.ID, e.Admin} }

// Reversal is a reversal in force: the event that reversed another.
type Reversal struct {
	ID   [16]byte
	Void *int64 // the void that it belongs to; nil: none
}

// Correction reverses events or, with Undo, restores events that a void
// reversed.
type Correction struct {
	Undo bool
	Void *int64 // the void that this belongs to; nil: none
	// OpenBoards leaves an event's boards that have ended as they are, if any of its boards
	// is open. Otherwise such an event is not corrected at all.
	OpenBoards bool
	// Audit is written to every row; nil for a void, whose audit entry is written
	// when it is created.
	Audit *scoreboard.AuditEntry
}

// Item returns the event that corrects e. It has a new id, which no client can take,
// because it is internal; that e is corrected at most once follows from the reversals
// in force.
func (c *Correction) Item(e *Event) scoreboard.Increment {
	action := actionReversal
	if c.Undo {
		action = actionUndo
	}
	in := scoreboard.Increment{
		User: e.User, Event: scoreboard.NewEventID(), Boards: e.Boards,
		Action: action + scoreboard.FormatUUID(e.ID), Source: scoreboard.SourceAdmin,
	}
	if c.Audit != nil {
		in.Signer, in.Address, in.Agent = string(c.Audit.Actor), c.Audit.Address, c.Audit.Agent
	}
	return in
}

// Plan decides which events the correction applies to: item i of the batch
// corrects events[i]. Events that cannot be corrected have their error in
// Outcomes; apply are the indexes to correct, replayed those already in the
// requested state.
func (b *Batch) Plan(c *Correction, events []Event, inForce map[EventKey]Reversal) (apply, replayed []int) {
	for i := range events {
		e := &events[i]
		reversal, reversed := inForce[e.Key()]
		if err := b.checkCorrection(c, e, reversal); err != nil {
			b.Outcomes[i].Err = err
			continue
		}
		if reversed != c.Undo {
			replayed = append(replayed, i)
			continue
		}
		if err := b.checkBoards(c, e); err != nil {
			b.Outcomes[i].Err = err
			continue
		}
		apply = append(apply, i)
	}
	return apply, replayed
}

// checkCorrection returns why an event cannot be corrected.
func (b *Batch) checkCorrection(c *Correction, e *Event, reversal Reversal) error {
	if err := b.checkUser(e.User); err != nil {
		return err
	}
	id := scoreboard.FormatUUID(e.ID)
	if e.Admin && e.Action != ActionAdjust {
		if e.Action == ActionImport {
			return scoreboard.Errorf(wire.CodeConflict, "event %s was imported; adjust the score instead", id)
		}
		if e.Action == scoreboard.ActionTeam {
			return scoreboard.Errorf(wire.CodeConflict,
				"event %s is a computed score of a team; reverse the events of its members instead", id)
		}
		kind, _, _ := strings.Cut(e.Action, ":")
		return scoreboard.Errorf(wire.CodeConflict, "event %s is itself a correction (%s)", id, kind)
	}
	if c.Undo && (reversal.Void == nil || *reversal.Void != *c.Void) {
		return scoreboard.Errorf(wire.CodeConflict, "event %s was not reversed by this void", id)
	}
	return nil
}

// checkBoards returns why an event cannot be corrected on its boards. A board that has
// ended never opens again, so what it keeps of an event, it keeps.
func (b *Batch) checkBoards(c *Correction, e *Event) error {
	var closed error
	open, ended := 0, 0
	for _, name := range e.Boards {
		_, err := b.openBoard(name)
		switch {
		case err == nil:
			open++
		case b.hasEnded(name):
			ended++
			closed = err
		default:
			return err
		}
	}
	switch {
	case ended == 0 || open > 0 && c.OpenBoards:
		return nil
	case open > 0:
		return scoreboard.Errorf(wire.CodeBoardClosed,
			"%v; open_boards corrects the event on its other boards alone", closed)
	}
	return closed
}

// hasEnded reports whether a board accepts no writes and never will.
func (b *Batch) hasEnded(name scoreboard.BoardID) bool {
	board := b.boards[name]
	return board != nil && board.Ended()
}

// Uncorrected returns the boards of an event that its correction left as they were: those
// without one of its receipts.
func (e *Event) Uncorrected(receipts []scoreboard.Receipt) (left []scoreboard.BoardID) {
	for _, board := range e.Boards {
		if !slices.ContainsFunc(receipts, func(r scoreboard.Receipt) bool { return r.Board == board }) {
			left = append(left, board)
		}
	}
	return left
}

// Correct sets the scores on all boards of the event of item i to their values
// without it, or with it again: on all boards or on none, but for those that have ended,
// which Plan has allowed. On best and latest boards fold recomputes the score from the
// user's remaining events, and the metadata on boards that keep it.
func (b *Batch) Correct(
	i int, c *Correction, e *Event, fold func(scoreboard.UserID, *scoreboard.Board) (Standing, error),
) ([]scoreboard.Receipt, error) {
	to := make([]Standing, len(e.Boards))
	for n, name := range e.Boards {
		if b.hasEnded(name) {
			continue
		}
		board, err := b.openBoard(name)
		if err != nil {
			return nil, err
		}
		if board.Mode == scoreboard.ModeIncrement {
			by := e.Applied[n]
			if !c.Undo {
				by = scoreboard.Pair{}.Less(by)
			}
			to[n] = b.moved(e.User, name, by)
			if board.KeepsMetadata() || to[n].Metadata != "" {
				left, err := fold(e.User, board)
				if err != nil {
					return nil, err
				}
				to[n].Metadata = left.Metadata
			}
		} else if to[n], err = fold(e.User, board); err != nil {
			return nil, err
		}
		if to[n].Exists {
			if err := board.CheckPair(to[n].Pair); err != nil {
				return nil, err
			}
		}
	}
	receipts := make([]scoreboard.Receipt, 0, len(e.Boards))
	returned := int64(0) // attempts
	switch {
	case e.Admin: // no attempt
	case c.Undo:
		returned = -1
	default:
		returned = 1
	}
	for n, name := range e.Boards {
		if b.hasEnded(name) {
			continue
		}
		row := b.Items[i]
		by := to[n].Less(b.scores[ScoreKey{e.User, name}].pair())
		row.Delta, row.Subscore = int64(by.Score), &by.Subscore
		receipts = append(receipts, b.amend(&row, b.Hashes[i], b.boards[name], to[n], returned))
	}
	return receipts, nil
}

// Adjust decides item 0 as an operator's adjustment of one board of any mode.
// Replayed means that the event is known and nothing is written.
func (b *Batch) Adjust() (replayed bool, err error) {
	in := &b.Items[0]
	if err := b.checkUser(in.User); err != nil {
		return false, err
	}
	receipts, known, err := b.Replay(0)
	if known || err != nil {
		b.Outcomes[0] = scoreboard.Outcome{Receipts: receipts}
		return true, err
	}
	board, err := b.openBoard(in.Boards[0])
	if err != nil {
		return false, err
	}
	if in.Subscore != nil && !board.HasSubscores() {
		return false, scoreboard.Invalid("subscore", "board %s has no subscores", board.ID)
	}
	to := b.moved(in.User, board.ID, in.Submitted())
	if err := board.CheckPair(to.Pair); err != nil {
		return false, err
	}
	b.Outcomes[0].Receipts = []scoreboard.Receipt{b.amend(in, b.Hashes[0], board, to, 0)}
	return false, nil
}

// moved returns the standing after a pair is added, reached now.
func (b *Batch) moved(user scoreboard.UserID, board scoreboard.BoardID, by scoreboard.Pair) Standing {
	s := b.scores[ScoreKey{user, board}]
	return Standing{s.pair().Sum(by), true, b.users[user].time, s.Metadata}
}

// amend appends the row that changes a user's score to a standing, which is no attempt.
// Returned is how many attempts it gives back beside; −1 takes one.
func (b *Batch) amend(
	in *scoreboard.Increment,
	hash [16]byte,
	board *scoreboard.Board,
	to Standing,
	returned int64,
) scoreboard.Receipt {
	user, s := b.users[in.User], b.scores[ScoreKey{in.User, board.ID}]
	receipt := newReceipt(in, board, s, to.Pair, user.time)
	hidden := user.hidden() || !to.Exists
	changed := s.Version == 0 || to.Pair != s.pair() || hidden != s.Hidden ||
		board.Mode != scoreboard.ModeIncrement && to.Exists && !to.ReachedAt.Equal(s.ReachedAt)
	if changed {
		s.Revision++
		s.ReachedAt = to.ReachedAt
	}
	s.Exists, s.Value, s.Subscore, s.Hidden = to.Exists, to.Score, to.Subscore, hidden
	s.Version++
	receipt.Version = s.Version
	s.lastRow = b.Rows.add(in, hash, receipt, board, s, changed, Shard(in.User, b.shards))
	s.Metadata = to.Metadata
	b.Rows.describe(s.lastRow, in.Metadata, s.Metadata)
	b.Rows.hide(s.lastRow, hidden, !to.Exists)
	s.Uncounted += 1 + returned
	s.discounted += 1 + returned
	b.Rows.discount(s.lastRow, s.discounted)
	return receipt
}

// checkUser returns a not_found for a user that this transaction created, and
// gone for an erased one.
func (b *Batch) checkUser(id scoreboard.UserID) error {
	u := b.users[id]
	if u.created {
		return scoreboard.Errorf(wire.CodeNotFound, "user %s not found", id)
	}
	if u.status == scoreboard.UserErased {
		return erased(id)
	}
	return nil
}
