package realtime_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// withSubscores shows rows as "user score.subscore"; a row without a subscore has none.
func withSubscores(rows []wire.Entry) string {
	var all []string
	for _, e := range rows {
		text := fmt.Sprintf("%s %d", e.UserID, e.Score)
		if e.Subscore != nil {
			text += fmt.Sprintf(".%d", *e.Subscore)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// A subscore alone changes rows, order and ranks, and every message has it, also where it is 0.
func TestSubscoresInMessages(t *testing.T) {
	t.Parallel()
	c := &circles{ranking: newRanking("global", "plain")}
	c.boards["global"].subscores = map[scoreboard.UserID]scoreboard.Score{"bob": 4}
	c.set("global", of{"ada": 5, "bob": 5})
	c.set("plain", of{"ada": 5})
	c.befriend("ada", "bob")
	r := start(t, realtime.Options{}, c)
	r.hub.ShowFriends(c)
	rows, deltas, own, friends := r.dial(""), r.dial("delta=1"), r.dial("user=ada"), r.dial("user=ada&friends=1")
	for _, w := range []*watcher{rows, deltas, own} {
		if got := withSubscores(w.expect(wire.MessageUpdated).Top); got != "bob 5.4, ada 5.0" {
			t.Errorf("the first rows are %q", got)
		}
	}
	listed := func() string {
		t.Helper()
		for {
			if f := friends.frame(); f.Type == wire.MessageFriends {
				var rows []wire.Entry
				for _, e := range f.Friends {
					rows = append(rows, e.Entry)
				}
				return withSubscores(rows)
			}
		}
	}
	if got := listed(); got != "bob 5.4, ada 5.0" {
		t.Errorf("the first list is %q", got)
	}
	c.edit(func() { c.boards["global"].subscores["ada"] = 9 })
	r.hub.Notify(c.set("global", of{"ada": 5}))
	if got := withSubscores(rows.expect(wire.MessageUpdated).Top); got != "ada 5.9, bob 5.4" {
		t.Errorf("the rows are %q", got)
	}
	if f := deltas.expect(wire.MessageDelta); withSubscores(f.Changed) != "ada 5.9, bob 5.4" || len(f.Removed) != 0 {
		t.Errorf("the delta is %+v", f)
	}
	f := own.rank()
	checkRank(t, f, "ada", 1, 2, 2)
	if f.Subscore == nil || *f.Subscore != 9 {
		t.Errorf("the rank message %+v has no subscore 9", f)
	}
	if got := listed(); got != "ada 5.9, bob 5.4" {
		t.Errorf("the list is %q", got)
	}
	plain := r.dial("board=plain&user=ada")
	data, err := plain.read()
	if err != nil || strings.Contains(string(data), "subscore") {
		t.Errorf("a board without subscores: %s, %v", data, err)
	}
	r.hub.Notify(c.set("plain", of{"ada": 6}))
	for range 2 { // rows and rank
		if data, err = plain.read(); err != nil || strings.Contains(string(data), "subscore") {
			t.Errorf("a board without subscores: %s, %v", data, err)
		}
	}
}
