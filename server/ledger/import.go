package ledger

import (
	"strconv"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ActionImport marks the rows of imports.
const ActionImport = scoreboard.ActionImport

// Imported is what an import has written for a user: the user's score and subscore in the other
// system, and the number of events. It is zero for a user that the import has not written yet.
type Imported struct {
	scoreboard.Pair
	Changes int32
}

// ImportEvent is the id of the nth event of an import for a user. Every database has the
// same for the same source and board, so that consumers of the changes recognise those of
// an import that was repeated after a restore. All but the user in it is known: an erasure
// replaces it by a random id (erase_ledger_rows).
func ImportEvent(user scoreboard.UserID, source string, board scoreboard.BoardID, n int32) scoreboard.EventID {
	return scoreboard.NamedEventID(user, "import|"+source+"|"+string(board)+"|"+strconv.Itoa(int(n)))
}

// Import decides item i, which has the user's score and subscore in the other system. On an
// increment board it adds the difference to what the import has written before; on best
// and latest boards it submits the score.
func (b *Batch) Import(i int, before Imported, event scoreboard.EventID) error {
	in := &b.Items[i]
	user := b.users[in.User]
	if user.status == scoreboard.UserErased {
		return erased(in.User)
	}
	board, err := b.openBoard(in.Boards[0])
	if err != nil {
		return err
	}
	s := b.scores[ScoreKey{in.User, board.ID}]
	in.Event = event
	if err := in.CheckSubscores([]*scoreboard.Board{board}); err != nil {
		return err
	}
	if board.Mode == scoreboard.ModeIncrement {
		rest := in.Submitted().Less(before.Pair)
		in.Delta = int64(rest.Score)
		if board.HasSubscores() {
			in.Subscore = &rest.Subscore
		}
	}
	to := Standing{
		Pair: board.PairAfter(s.pair(), s.Exists, in.Submitted()), Exists: true, ReachedAt: user.time,
	}
	moved := !s.Exists || to.Pair != s.pair()
	if !moved {
		to.ReachedAt = s.ReachedAt
	}
	if err := in.CheckMetadata([]*scoreboard.Board{board}); err != nil {
		return err
	}
	to.Metadata = board.MetadataAfter(s.Metadata, in.Metadata, moved)
	if err := board.CheckPair(to.Pair); err != nil {
		return err
	}
	b.Outcomes[i].Receipts = []scoreboard.Receipt{b.amend(in, b.Hashes[i], board, to, 0)}
	return nil
}

// UserPlaces returns the place of the first item of each of UserNames.
func (b *Batch) UserPlaces() []int32 {
	first := make(map[scoreboard.UserID]int32, len(b.Items))
	for i := range b.Items {
		if _, seen := first[b.Items[i].User]; !seen {
			first[b.Items[i].User] = int32(i)
		}
	}
	places := make([]int32, len(b.UserNames))
	for n, name := range b.UserNames {
		places[n] = first[scoreboard.UserID(name)]
	}
	return places
}
