package clienttest

import (
	"net/http"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func (g *game) describe() protocol.Board {
	b := &g.board
	return protocol.Board{
		Board: string(b.ID), Mode: string(b.Mode), Order: string(b.Order), Status: string(scoreboard.StatusActive),
		MinDelta: b.MinDelta, MaxDelta: b.MaxDelta, MinScore: int64(b.MinScore), MaxScore: int64(b.MaxScore),
		Public: true,
	}
}

func (s *Server) listBoards(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := caller(w, r); ok {
		write(w, 200, protocol.Boards{Boards: []protocol.Board{s.game.describe()}})
	}
}

func (s *Server) showBoard(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := caller(w, r); !ok {
		return
	}
	if id := r.PathValue("board"); id != string(s.game.board.ID) {
		refuse(w, 404, scoreboard.Errorf(scoreboard.CodeNotFound, "board %q not found", id))
		return
	}
	write(w, 200, s.game.describe())
}
