package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
)

// bobsPage is what the server says about bob.
func bobsPage() playerMsg {
	msg := playerMsg{
		user: "bob",
		place: client.Place{
			UserID: "bob", Rank: 1, Total: 10_000, Score: 1_284_480, Percentile: 99.99,
			Neighbours: recorded()[1].Entries[:4],
		},
		account: &client.User{UserID: "bob", Status: active},
	}
	for i := range 12 {
		msg.statement = append(msg.statement, client.StatementEntry{
			EventID: "match-" + string(rune('a'+i)), Delta: 500 - int64(i%5)*120, NewScore: 1_284_480 - int64(i*i)*90,
			RecordedAt: start.Add(-time.Duration(i) * time.Minute), Action: "win",
		})
	}
	return msg
}

func openBob(s *screen) {
	s.openPlayer("bob")
	msg := bobsPage()
	msg.generation = s.generation
	s.Update(msg)
}

func TestPlayerPage(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	var requested []string
	s.o.Find = func(_ context.Context, board, user string, k int) (client.Place, error) {
		requested = append(requested, "find "+user+" on "+board)
		return bobsPage().place, nil
	}
	s.o.Statement = func(_ context.Context, board, user string) (client.Statement, error) {
		requested = append(requested, "statement of "+user+" on "+board)
		return client.Statement{Entries: bobsPage().statement}, nil
	}
	s.o.User = func(context.Context, string) (client.User, error) {
		return client.User{UserID: "bob", Status: "frozen", By: "root", Reason: "looks odd", OpenFlags: 2}, nil
	}
	s.watching = "global"
	busy(s) // selects frank; bob is on top
	s.keys("home")
	s.run(s.keys("enter"))
	if got, want := strings.Join(requested, ", "), "find bob on global, statement of bob on global"; got != want {
		t.Errorf("requested %s, want %s", got, want)
	}
	s.contains("#1 of 10,000 · 1,284,480 points", "alice", "match-a", "+500", "score over the latest events",
		"account frozen by root: looks odd · 2 open flags")
	s.lacks("standings")

	// The rank over time is drawn from what was seen.
	fell := bobsPage()
	fell.place.Rank = 7
	fell.generation = s.generation
	s.wait(time.Minute)
	s.Update(fell)
	s.wait(time.Minute)
	s.contains("#1 ", "#7 ", "rank over time")

	s.keys("esc")
	s.contains("standings")
	if s.selected != "bob" {
		t.Errorf("after the page: %q selected, want bob", s.selected)
	}
	late := bobsPage()
	late.generation = s.generation
	if cmd := s.setPlayer(late); cmd != nil {
		t.Error("a closed page reads on")
	}
}

// A user who may not read the statement sees why; one without a score too.
func TestPlayerPageWithoutPermission(t *testing.T) {
	s := newScreen(t, 80, 24, plain)
	s.Update(stateMsg{state: recorded()[0]})
	openBob(s)
	msg := bobsPage()
	msg.generation, msg.statement, msg.account = s.generation, nil, nil
	msg.hidden = errors.New("only the user and operators may read a statement")
	s.Update(msg)
	s.contains("only the user and operators may read a statement")
	s.openPlayer("nobody")
	s.contains("loading")
	s.Update(playerMsg{generation: s.generation, user: "nobody", err: errors.New("no score on this board")})
	s.contains("no score on this board")
	s.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
	s.contains("nobody") // the page of a small screen has a name, too
}

func TestChart(t *testing.T) {
	t.Parallel()
	s := newScreen(t, 80, 24, plain)
	got := s.theme.chart([]float64{0, 5, 10}, 9, 2, func(v float64) string { return grouped(int64(v)) })
	if len(got) != 2 || ansi.Strip(got[0]) != "10   ▁▁██" || ansi.Strip(got[1]) != " 0 ▁▁████" {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if got := s.theme.chart([]float64{3, 3}, 9, 1, func(float64) string { return "3" }); got[0] != "3 ───────" {
		t.Errorf("constant: got %q, want a line", got)
	}
	flat := strings.Join(s.theme.chart([]float64{3, 3}, 9, 5, func(float64) string { return "3" }), "/")
	if want := " / /3 ───────/ / "; flat != want {
		t.Errorf("constant: got %q, want %q", flat, want)
	}
}
