package tui

import (
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// follow shows states of the rows and returns the texts of the activity, newest first.
func follow(t *testing.T, states ...[]client.Entry) []string {
	t.Helper()
	s := newScreen(t, 120, 40, plain)
	for i, rows := range states {
		s.clock = start.Add(time.Duration(i) * time.Second)
		s.Update(stateMsg{state: client.State{
			Board: "global", Version: int64(i + 1), Connection: client.WebSocket, HeardAt: s.clock, Entries: rows,
		}})
	}
	var texts []string
	for _, e := range slices.Backward(s.activity.events) {
		text := e.text
		if e.times > 1 {
			text += " x" + grouped(int64(e.times))
		}
		texts = append(texts, text)
	}
	return texts
}

func TestActivityShowsWhatMatters(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		states [][]client.Entry
		want   []string
	}{
		{"a gain alone is nothing", [][]client.Entry{
			entries("ann", 50, "bo", 40), entries("ann", 55, "bo", 40),
		}, nil},
		{"the lead", [][]client.Entry{
			entries("ann", 50, "bo", 40), entries("bo", 60, "ann", 50),
		}, []string{"bo takes the lead from ann"}},
		{"several overtaken", [][]client.Entry{
			entries("ann", 50, "bo", 40, "cy", 30, "di", 20), entries("ann", 50, "di", 45, "bo", 40, "cy", 30),
		}, []string{"di overtook bo and 1 more for #2"}},
		{"far from the lead", [][]client.Entry{
			entries("a", 9, "b", 8, "c", 7, "d", 6, "e", 5, "f", 4, "g", 3),
			entries("a", 9, "b", 8, "c", 7, "d", 6, "e", 5, "g", 5, "f", 4),
		}, nil},
		{"repeats collapse", [][]client.Entry{
			entries("z", 99, "ann", 50, "bo", 40), entries("z", 99, "bo", 60, "ann", 50),
			entries("z", 99, "ann", 70, "bo", 60), entries("z", 99, "bo", 80, "ann", 70),
		}, []string{"bo overtook ann for #2 x3"}},
		{"a reversal", [][]client.Entry{
			entries("vex", 5000, "ann", 50, "bo", 40), entries("ann", 50, "bo", 40, "vex", 3),
		}, []string{"vex fell from #1 to #3, -4,997"}},
		{"a milestone", [][]client.Entry{
			entries("ann", 2400, "bo", 40), entries("ann", 2600, "bo", 40),
		}, []string{"ann passed 2,500"}},
		{"entered and left", [][]client.Entry{
			entries("ann", 50, "bo", 40), entries("ann", 50, "cy", 45), entries("cy", 45),
		}, []string{"ann left the board, was #1", "cy entered at #2, bo left"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := follow(t, tc.states...); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// On a long board only the first ten ranks matter.
func TestActivityIsAboutTheTopTen(t *testing.T) {
	t.Parallel()
	first := hundred().Entries
	swap := func(all []client.Entry, a, b int) []client.Entry {
		next := slices.Clone(all)
		next[a-1], next[b-1] = next[b-1], next[a-1]
		next[a-1].Rank, next[b-1].Rank = int64(a), int64(b)
		next[a-1].Score = all[a-1].Score + 1
		return next
	}
	if got := follow(t, first, swap(first, 50, 51)); got != nil {
		t.Errorf("50th and 51st: got %q, want nothing", got)
	}
	if got := follow(t, first, swap(first, 10, 11)); !slices.Equal(got, []string{
		"user11. entered the top 10 at #10, user10. left",
	}) {
		t.Errorf("10th and 11th: got %q", got)
	}
}

// A user whose score was reversed fell, also below the ranks that matter.
func TestReversalIsReported(t *testing.T) {
	t.Parallel()
	first := hundred().Entries
	next := slices.Concat(first[1:50], first[:1], first[50:])
	for i := range next {
		next[i].Rank = int64(i + 1)
	}
	next[49].Score = 950
	if got := follow(t, first, next); len(got) == 0 || got[len(got)-1] != "user11. entered the top 10 at #10" ||
		!slices.Contains(got, "user1. fell from #1 to #50, -50") {
		t.Errorf("got %q", got)
	}
}

// The activity of one state is bounded, the best ranks first.
func TestActivityIsBounded(t *testing.T) {
	t.Parallel()
	first := hundred().Entries
	next := slices.Clone(first)
	for i := range next {
		next[i].UserID = "new-" + next[i].UserID
	}
	got := follow(t, first, next)
	if len(got) != maxNotable || got[0] != "new-user1. entered at #1, user1. left" {
		t.Errorf("got %q, want %d events, of the best ranks", got, maxNotable)
	}
}

func TestMilestones(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ before, after, want int64 }{
		{0, 999, 0},
		{999, 1000, 1000},
		{1000, 1000, 0},
		{900, 2600, 2500},
		{4999, 5000, 5000},
		{9, 1 << 53, 5e15},
		{2600, 900, 0},
	} {
		if got := passed(tc.before, tc.after); got != tc.want {
			t.Errorf("from %d to %d: got %d, want %d", tc.before, tc.after, got, tc.want)
		}
	}
}

// New flags appear in the activity and at the row; those that were open before only at the
// row.
func TestFlagsAreShown(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	s.Update(stateMsg{state: recorded()[0]})
	old := client.Flag{ID: 2, UserID: "ivan", Rule: "amount"}
	s.Update(statusMsg{status: healthyStatus(1), flags: []client.Flag{old}})
	s.contains("ivan ⚑")
	s.lacks("is flagged")
	s.Update(statusMsg{status: healthyStatus(1), flags: []client.Flag{
		old, {ID: 3, UserID: "alice", Rule: "size", Delta: 4900, Detail: "delta 4900, far above"},
	}})
	s.contains("alice ⚑", "alice is flagged (size): +4,900, far")
	s.Update(statusMsg{status: healthyStatus(1), flags: []client.Flag{}})
	s.lacks("alice ⚑", "ivan ⚑")
}
