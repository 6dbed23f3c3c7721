package tui

import (
	"context"
	"errors"
	"testing"
)

func TestActionNeedsReasonAndShowsCommand(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	var done []Action
	s.o.Act = func(_ context.Context, a Action) error { done = append(done, a); return nil }
	busy(s)
	s.keys("home", "a")
	s.contains("ban player bob", "freeze player bob", "freeze board global", "rebuild ranking of global")
	s.keys("enter")
	s.contains("sbctl user ban bob --reason ''", "enter a reason")
	if cmd := s.keys("enter"); cmd != nil || s.menu == nil {
		t.Error("enter without a reason did something")
	}
	for _, letter := range "it's a bot q" { // q is typed, and does not quit
		s.keys(string(letter))
	}
	s.contains(`sbctl user ban bob --reason 'it'\''s a bot q'`)
	if len(done) != 0 {
		t.Fatalf("did %v before enter", done)
	}
	s.run(s.keys("enter"))
	if want := (Action{BanUser, "bob", "it's a bot q"}); len(done) != 1 || done[0] != want {
		t.Errorf("did %v, want %v", done, want)
	}
	s.contains("bob is banned", "bob is banned: it's a bot q")
}

func TestActionFollowsTheUser(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	busy(s)
	s.keys("home") // bob
	s.Update(stateMsg{state: recorded()[0]})
	s.keys("a")
	s.contains("ban player bob") // now second; alice is at the cursor's old place
}

func TestActionOnBoard(t *testing.T) {
	s := newScreen(t, 80, 24, plain)
	var done []Action
	s.o.Act = func(_ context.Context, a Action) error { done = append(done, a); return errors.New("not today") }
	busy(s)
	s.keys("esc", "a")
	s.lacks("ban player")
	s.keys("enter", "x")
	s.run(s.keys("enter"))
	if want := (Action{FreezeBoard, "global", "x"}); len(done) != 1 || done[0] != want {
		t.Errorf("did %v, want %v", done, want)
	}
	s.contains("freeze board global: not today")
	s.info.Status = frozen
	s.keys("a")
	s.contains("unfreeze board global")
	s.keys("down", "enter")
	s.contains("sbctl rebuild --board global --reason ''")
	s.keys("esc", "esc")
	s.lacks("sbctl rebuild")
}

func TestActionsAreForOperators(t *testing.T) {
	s := newScreen(t, 80, 24, plain)
	s.Update(stateMsg{state: recorded()[0]})
	s.keys("a")
	s.contains("actions need a token with the scope score:operate")
	if s.menu != nil {
		t.Error("the menu is open")
	}
}
