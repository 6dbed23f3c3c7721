package tui

import (
	"fmt"
	"testing"

	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
)

// hundred returns a board of a hundred users.
func hundred() client.State {
	s := client.State{Board: "global", Version: 1, Epoch: 1, HeardAt: start, Connection: client.WebSocket}
	for i := range int64(100) {
		s.Entries = append(s.Entries, client.Entry{Rank: i + 1, UserID: fmt.Sprintf("user%d.", i+1), Score: 1000 - i})
	}
	return s
}

// Every row of a long board can be scrolled to at any size, and the footer names the
// keys.
func TestLongBoardScrolls(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {100, 30}, {200, 60}} {
		s := newScreen(t, size[0], size[1], termenv.Ascii, false)
		s.Update(stateMsg{state: hundred()})
		s.contains("user1.", "↑↓ scroll", "q quit")
		s.lacks("user99.")
		s.keys("up", "pgup")
		s.contains("user1.")
		s.keys("down")
		s.contains("user2.", fmt.Sprintf("user%d.", s.room+1))
		s.lacks("user1.")
		s.keys("pgdown")
		s.contains(fmt.Sprintf("user%d.", s.room+2))
		s.lacks(fmt.Sprintf("user%d.", s.room+1))
		s.keys("pgup", "k")
		s.contains("user1.")
		for range 100 {
			s.keys("j")
		}
		s.contains("user100.")
		s.lacks(fmt.Sprintf("user%d.", 100-s.room))
		s.Update(stateMsg{state: recorded()[0]}) // a short one
		s.contains("alice", "judy")
		s.lacks("scroll")
	}
}
