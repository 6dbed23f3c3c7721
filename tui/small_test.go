package tui

import (
	"errors"
	"testing"

	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
)

func TestGapKeepsAllDigits(t *testing.T) {
	for _, width := range []int{80, 100, 160} {
		s := newScreen(t, width, 30, termenv.Ascii, false)
		s.Update(
			stateMsg{
				state: client.State{
					Board:      "global",
					Version:    1,
					Connection: client.WebSocket,
					HeardAt:    start,
					Entries: []client.Entry{
						{Rank: 1, UserID: "ann", Score: 9_497_058}, {Rank: 2, UserID: "bo", Score: -9_497_058},
					},
				},
			},
		)
		s.contains("-18,994,116")
	}
}

// A user no longer shown has left the board only if all users are shown.
func TestUserBelowTheTopHasNotLeft(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	s.Update(stateMsg{state: recorded()[0]})
	s.Update(stateMsg{state: recorded()[1]})
	s.contains("judy left the top 10, was #10")
	s.lacks("left the board")
	fewer := recorded()[1]
	fewer.Entries = fewer.Entries[:9]
	s.Update(stateMsg{state: fewer})
	s.contains("ivan left the board, was #10")
}

// The error of a failed request disappears when the server is back.
func TestErrorClearsWhenTheServerIsBack(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	frames := recorded()
	s.Update(stateMsg{state: frames[2]})
	s.contains("connection reset by peer; reconnecting")
	s.Update(boardsMsg{err: errors.New("the server does not answer")})
	s.contains("the server does not answer")
	s.Update(stateMsg{state: frames[2]})
	s.contains("the server does not answer")
	s.Update(stateMsg{state: frames[1]})
	s.lacks("does not answer", "reconnecting")
}

func TestSmallScreenShowsNeighboursAndKeys(t *testing.T) {
	s := newScreen(t, 40, 12, termenv.Ascii, false)
	s.Update(stateMsg{state: recorded()[0]})
	s.contains("q quit")
	s.keys("+")
	s.contains("/ finds a user")
	s.keys("-")
	var around []client.Entry
	for i := range int64(21) {
		around = append(around, client.Entry{Rank: 90 + i, UserID: "user" + string(rune('a'+i)), Score: 100 - i})
	}
	s.Update(
		foundMsg{
			user:  "userk",
			place: client.Place{UserID: "userk", Rank: 100, Total: 200, Score: 90, Neighbours: around},
		},
	)
	s.contains("alice", "userh", "userk", "usern", "userk is 100th of 200")
	s.lacks("userg")
	s.lacks("usero")
	for range maxNeighbours {
		s.keys("+")
	}
	s.contains("no room for more neighbours here")

	broken := recorded()[2]
	broken.Err = errors.New("http://127.0.0.1:18080 does not answer")
	s = newScreen(t, 40, 12, termenv.Ascii, false)
	s.Update(stateMsg{state: broken})
	s.contains("http://127.0.0.1:18080 does not answer")
}
