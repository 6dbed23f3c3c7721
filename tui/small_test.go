package tui

import (
	"errors"
	"testing"

	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
)

func TestAGapLosesNoDigits(t *testing.T) {
	for _, width := range []int{80, 100, 160} {
		s := newScreen(t, width, 30, termenv.Ascii, false)
		s.Update(stateMsg{state: client.State{Board: "global", Version: 1, Connection: client.WebSocket, HeardAt: start, Entries: []client.Entry{
			{Rank: 1, UserID: "ann", Score: 9_497_058}, {Rank: 2, UserID: "bo", Score: -9_497_058},
		}}})
		s.contains("-18,994,116")
	}
}

func TestASmallScreenShowsNeighboursAndHowToLeave(t *testing.T) {
	s := newScreen(t, 40, 12, termenv.Ascii, false)
	s.Update(stateMsg{state: recorded()[0]})
	s.contains("q quit")
	s.keys("+")
	s.contains("/ searches a user")
	s.keys("-")
	var around []client.Entry
	for i := range int64(21) {
		around = append(around, client.Entry{Rank: 90 + i, UserID: "user" + string(rune('a'+i)), Score: 100 - i})
	}
	s.Update(foundMsg{user: "userk", place: client.Place{UserID: "userk", Rank: 100, Total: 200, Score: 90, Neighbours: around}})
	s.contains("alice", "userh", "userk", "usern", "userk is 100 of 200")
	s.lacks("userg")
	s.lacks("usero")
	for range mostNeighbours {
		s.keys("+")
	}
	s.contains("no room for more neighbours here")

	away := recorded()[2]
	away.Err = errors.New("http://127.0.0.1:18080 does not answer")
	s = newScreen(t, 40, 12, termenv.Ascii, false)
	s.Update(stateMsg{state: away})
	s.contains("http://127.0.0.1:18080 does not answer")
}
