package store

import (
	"hash/fnv"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// decide turns what was found under the locks into outcomes and rows, item by
// item in order, so that a later item of a user builds on an earlier one.
func (r *recording) decide() {
	for i := range r.items {
		receipts, err := r.decideOne(&r.items[i], r.hashes[i])
		r.outcomes[i] = scoreboard.Outcome{Receipts: receipts, Err: err}
	}
	r.settle()
}

// settle marks the row that each score ends with, and the users who have one.
func (r *recording) settle() {
	for k, s := range r.scores {
		if s.lastRow >= 0 {
			r.rows.last[s.lastRow] = true
			r.users[k.user].kept = true
		}
	}
}

func (r *recording) decideOne(in *scoreboard.Increment, hash [16]byte) ([]scoreboard.Receipt, error) {
	user := r.users[in.User]
	if user.status == statusErased {
		return nil, scoreboard.Errorf(scoreboard.CodeGone, "user %s is erased", in.User)
	}
	if user.status != statusActive {
		return nil, &scoreboard.Error{Code: scoreboard.CodeForbidden, Field: "user_id", Message: "user " + string(in.User) + " is " + user.status}
	}
	if known := r.known[eventKey{in.User, in.Event.UUID}]; known != nil {
		return replay(in, hash, known)
	}
	// What follows is never told to a repeat.
	if in.Objection != nil {
		return nil, in.Objection
	}
	if err := r.proofs.check(in); err != nil {
		return nil, err
	}
	if err := r.past.allows(in, hash, user.time); err != nil {
		return nil, err
	}
	next := make([]scoreboard.Score, len(in.Boards))
	boards := make([]*scoreboard.Board, len(in.Boards))
	var mode scoreboard.Mode
	for i, name := range in.Boards {
		board, err := r.target(in, name)
		if err != nil {
			return nil, err
		}
		boards[i] = board
		if mode != "" && mode != board.Mode {
			return nil, scoreboard.Errorf(scoreboard.CodeRuleViolated, "one event cannot feed boards of different modes")
		}
		mode = board.Mode
		if err := board.Require.CheckProofs(in); err != nil {
			return nil, err
		}
		if err := board.CheckDelta(in.Delta); err != nil {
			return nil, err
		}
		s := r.scores[scoreKey{in.User, board.ID}]
		if next[i], err = board.Next(s.score, s.had, in.Delta); err != nil {
			return nil, err
		}
	}
	if err := r.past.looksRight(in, boards, next, r); err != nil {
		return nil, err
	}
	known := &knownEvent{hash: hash}
	for i, board := range boards {
		known.receipts = append(known.receipts, r.record(in, hash, board, next[i]))
	}
	r.known[eventKey{in.User, in.Event.UUID}] = known
	r.proofs.use(in)
	r.past.add(in, hash, known.receipts)
	receipts := make([]scoreboard.Receipt, len(known.receipts))
	copy(receipts, known.receipts)
	return receipts, nil
}

// replay answers a known event: the original receipts in the order that was
// asked for, or a conflict where the payload differs.
func replay(in *scoreboard.Increment, hash [16]byte, known *knownEvent) ([]scoreboard.Receipt, error) {
	if hash != known.hash {
		return nil, scoreboard.Errorf(scoreboard.CodeEventConflict, "event %s was recorded with another payload", in.Event.Text)
	}
	receipts := make([]scoreboard.Receipt, 0, len(in.Boards))
	for _, name := range in.Boards {
		for _, original := range known.receipts {
			if original.Board == name || strings.HasPrefix(string(original.Board), string(name)+":") {
				original.Event, original.Replayed = in.Event, true
				receipts = append(receipts, original)
				break
			}
		}
	}
	return receipts, nil
}

// record moves one user's score on one board and appends the row.
func (r *recording) record(in *scoreboard.Increment, hash [16]byte, board *scoreboard.Board, next scoreboard.Score) scoreboard.Receipt {
	user, s := r.users[in.User], r.scores[scoreKey{in.User, board.ID}]
	receipt := scoreboard.Receipt{
		User: in.User, Board: board.ID, Event: in.Event,
		NewScore: next, Applied: int64(next - s.score), RecordedAt: user.time,
	}
	if s.had || board.Mode == scoreboard.ModeIncrement {
		previous := s.score
		receipt.Previous = &previous
	}
	changed := !s.had || next != s.score
	if changed {
		s.revision++
		s.reached = user.time
	}
	s.had, s.score = true, next
	s.version++
	receipt.Version = s.version
	s.lastRow = r.rows.add(in, hash, receipt, board.Order.Key(next), s, changed, r.shard(in.User))
	return receipt
}

// shard is the user's part of the outbox.
func (r *recording) shard(user scoreboard.UserID) int16 { return shardOf(user, r.shards) }

// shardOf is stable for a user, so that the rows of one user are relayed in
// order by one owner.
func shardOf(user scoreboard.UserID, shards int) int16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user)) // a hash never fails
	return int16(h.Sum32() % uint32(shards))
}
