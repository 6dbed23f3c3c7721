package ledger

import "github.com/scoreboard/scoreboard/server/scoreboard"

// Joins are the players whose submissions the batch records in periods of leagues: each needs a place
// in a cohort, and takes one unless the player has it. Private users take none.
type Joins struct {
	Users, Boards []string
	Fills         []string // what the players of a cohort have in common
}

// add adds the submitter of an increment that is recorded on a board.
func (j *Joins) add(in *scoreboard.Increment, board *scoreboard.Board) {
	j.Users, j.Boards = append(j.Users, string(in.User)), append(j.Boards, string(board.ID))
	j.Fills = append(j.Fills, board.League.FillOf(in))
}
