package ledger

import (
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// TeamItem is the item that sets a team's score on a board, once it is computed.
func TeamItem(team scoreboard.Team, board scoreboard.BoardID) scoreboard.Increment {
	return scoreboard.Increment{
		User: team.User(), Boards: []scoreboard.BoardID{board}, Action: scoreboard.ActionTeam,
		Source: scoreboard.SourceAdmin,
	}
}

// SetTeam decides item i: the team's score is what its members have, or empty if to is nil.
// It records nothing, and returns false, where the team has that score already, or is
// erased. The event has the same id in every database, so that consumers of the changes
// recognise it after a restore.
func (b *Batch) SetTeam(i int, to *scoreboard.Score) (bool, error) {
	in := &b.Items[i]
	board, err := b.openBoard(in.Boards[0])
	if err != nil {
		return false, err
	}
	user, s := b.users[in.User], b.scores[ScoreKey{in.User, board.ID}]
	if user.status == scoreboard.UserErased {
		return false, nil
	}
	next := Standing{ReachedAt: user.time}
	if to != nil {
		next.Score, next.Exists = *to, true
	}
	if s.Exists == next.Exists && (s.Value == next.Score || !next.Exists) {
		return false, nil
	}
	in.Delta = int64(next.Score - s.Value)
	in.Event = scoreboard.NamedEventID(in.User, fmt.Sprintf("team|%s|%d", board.ID, s.Version+1))
	b.Outcomes[i].Receipts = []scoreboard.Receipt{b.amend(in, in.PayloadHash(), board, next, 0)}
	return true, nil
}
