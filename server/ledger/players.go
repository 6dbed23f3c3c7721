package ledger

import "github.com/scoreboard/scoreboard/server/scoreboard"

// PlayerPairs are the pairs of user and period of which it is read whether the user has joined it: those of
// boards that require it.
type PlayerPairs struct{ Users, Boards []string }

func (p *PlayerPairs) add(user scoreboard.UserID, board scoreboard.BoardID) {
	p.Users, p.Boards = append(p.Users, string(user)), append(p.Boards, string(board))
}

// AddPlayer says that the user of pair i of Players has joined its period.
func (b *Batch) AddPlayer(i int) {
	if b.players == nil {
		b.players = make(map[ScoreKey]bool)
	}
	b.players[ScoreKey{scoreboard.UserID(b.Players.Users[i]), scoreboard.BoardID(b.Players.Boards[i])}] = true
}
