package scoreboard_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestRules(t *testing.T) {
	t.Parallel()
	rules, err := scoreboard.ParseRules([]string{
		"kill:1:50;cooldown=5s",
		"boss:final:-5:100",
		"chop:1:9;max=2/1m",
		"find:1:9;once=30s",
		"gift:1:9;by=servers",
		"cup:1:9;by=k1+k2",
		"*:1:3",
		"off:0:0;by=nobody",
		"judge:1:9;users=ada+bob;scope=game:judge",
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	this, other := []scoreboard.BoardID{"daily:2026-11-21", "a"}, []scoreboard.BoardID{"a"} // of boards a and daily
	past := func(boards []scoreboard.BoardID, ages ...time.Duration) (all []scoreboard.PastAction) {
		for _, age := range ages {
			all = append(all, scoreboard.PastAction{Delta: 1, Boards: boards, At: now.Add(-age)})
		}
		return all
	}
	cases := []struct {
		action string
		delta  int64
		key    string
		server bool
		past   []scoreboard.PastAction
		code   wire.Code
	}{
		{"kill", 1, "", false, nil, ""},
		{"kill", 50, "", false, past(other, 5*time.Second), ""},
		{"kill", 50, "", false, past(other, 4999*time.Millisecond), wire.CodeRuleViolated},
		{"kill", 0, "", false, nil, wire.CodeDeltaOutOfRange},
		{"kill", 51, "", false, nil, wire.CodeDeltaOutOfRange},
		{"boss:final", -5, "", false, nil, ""},
		{"boss:final", -6, "", false, nil, wire.CodeDeltaOutOfRange},
		{"chop", 1, "", false, past(other, time.Second, time.Minute), ""},
		{"chop", 1, "", false, past(other, time.Second, 59*time.Second), wire.CodeRuleViolated},
		{"find", 1, "", false, past(other, 0), ""},
		{"find", 1, "", false, past(this, 30*time.Second), ""},
		{"find", 1, "", false, past(this, 29*time.Second), wire.CodeRuleViolated},
		{"find", 2, "", false, past(this, 29*time.Second), ""},
		{"gift", 1, "", false, nil, wire.CodeRuleViolated},
		{"gift", 1, "", true, nil, ""},
		{"cup", 1, "k2", false, nil, ""},
		{"cup", 1, "k3", true, nil, wire.CodeRuleViolated},
		{"off", 0, "", true, nil, wire.CodeRuleViolated},
		{"walk", 3, "", false, nil, ""},
		{"walk", 4, "", false, nil, wire.CodeDeltaOutOfRange},
		{"", 1000, "", false, nil, ""},
	}
	for _, c := range cases {
		in := scoreboard.Increment{
			Action: c.action, Delta: c.delta, Boards: []scoreboard.BoardID{"a", "daily"},
			KeyID: c.key, Server: c.server,
		}
		rule, code := rules.Of(c.action), wire.Code("")
		if rule != nil {
			code = wire.CodeOf(rule.Check(&in, now, c.past))
		}
		if code != c.code {
			t.Errorf("%+v: got %q, want %q", c, code, c.code)
		}
	}
	for _, text := range []string{
		"kill", "kill:1", ":1:2", "kill:a:2", "kill:2:1", "ki|ll:1:2", "kill:1:2:", "kill:1:2;", "kill:1:2;cooldown=",
		"kill:1:2;cooldown=-1s", "kill:1:2;cooldown=1000h", "kill:1:2;max=5",
		"kill:1:2;max=0/1m", "kill:1:2;max=1001/1m", "kill:1:2;by=", "kill:1:2;by=k1+", "kill:1:2;color=red",
		"kill:1:2;users=", "kill:1:2;users=ada+", "kill:1:2;users=a b", "kill:1:2;scope=", "kill:1:2;scope=a b",
		"kill:1:2;users=" + strings.Repeat("u+", scoreboard.MaxRuleNames) + "u",
		"kill:1:2;by=" + strings.Repeat("k+", scoreboard.MaxRuleNames) + "k",
	} {
		if _, err := scoreboard.ParseRules([]string{text}); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
	for user, allowed := range map[scoreboard.UserID]bool{"ada": true, "bob": true, "eve": false} {
		in := scoreboard.Increment{User: user, Action: "judge", Delta: 1}
		err := rules.Of("judge").Check(&in, now, nil)
		if (err == nil) != allowed || !allowed && !strings.Contains(err.Error(), "may not be performed by this user") {
			t.Errorf("%s: got %v", user, err)
		}
	}
	for scopes, allowed := range map[string]bool{"": false, "game:judge": true, "x game:judge": true, "game": false} {
		in := scoreboard.Increment{User: "ada", Action: "judge", Delta: 1}
		err := rules.Of("judge").CheckScope(&in, strings.Fields(scopes))
		if (err == nil) != allowed || !allowed && err.Reason != wire.ReasonActionBy {
			t.Errorf("%q: got %v", scopes, err)
		}
	}
	if err := rules.Of("none").CheckScope(&scoreboard.Increment{}, nil); err != nil {
		t.Errorf("an action without a rule: got %v", err)
	}
	if _, err := scoreboard.ParseRules([]string{"kill:1:2", "kill:1:3"}); err == nil {
		t.Error("a duplicate action: got no error")
	}
}

// An increment that names the default board alone repeats one that named no board and counted
// on others by rules, and the other way round: naming it must not count twice.
func TestOnceWithBoardsByRules(t *testing.T) {
	t.Parallel()
	rules, err := scoreboard.ParseRules([]string{"find:1:9;once=30s"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	global, eu := scoreboard.GlobalBoard, scoreboard.BoardID("eu")
	for _, c := range []struct {
		boards  []scoreboard.BoardID
		byRules bool
		past    []scoreboard.BoardID
		repeats bool
	}{
		{[]scoreboard.BoardID{global}, true, []scoreboard.BoardID{global, eu}, true},
		{[]scoreboard.BoardID{global}, false, []scoreboard.BoardID{global, eu}, true},
		{[]scoreboard.BoardID{global}, false, []scoreboard.BoardID{global}, true},
		{[]scoreboard.BoardID{global}, false, []scoreboard.BoardID{eu}, false},
		{[]scoreboard.BoardID{eu}, false, []scoreboard.BoardID{global}, false},
	} {
		in := scoreboard.Increment{Action: "find", Delta: 1, Boards: c.boards, ByRules: c.byRules}
		past := []scoreboard.PastAction{{Delta: 1, Boards: c.past, At: now.Add(-time.Second)}}
		if err := rules.Of("find").Check(&in, now, past); (err != nil) != c.repeats {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// Every rule that is accepted stays within the bounds of what is read per event,
// rejects deltas outside its own bounds, and parses again as it is written.
func FuzzParseRules(f *testing.F) {
	for _, text := range []string{
		"kill:1:50;cooldown=5s", "boss:final:-5:100,chop:1:9;max=2/1m", "find:1:9;once=30s;by=servers",
		"cup:1:9;by=k1+k2;by=nobody", "*:1:3",
		"kill:1:2;cooldown=744h1ns", "kill:1:2;max=1001/1m", "kill:1:2;once=-1s", "kill:2:1", "kill:1:2,kill:1:3",
		"::1:2", "kill:1:2;by=a++b", "kill:1:2;max=1/745h",
		"kill:1:2;users=ada+b:o@b;scope=game:judge", "kill:1:2;users=a++b", "kill:1:2;scope=a+b",
		"kill:-9223372036854775808:9223372036854775807", "ki ll:1:2", ";;=,", "kill:01:+2;max=1/1h;max=2/1s",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := scoreboard.ParseRules(strings.Split(text, ","))
		if err != nil {
			return
		}
		var written []string
		for name, r := range rules {
			if name == "" || name != scoreboard.AnyAction && scoreboard.CheckAction(name) != nil {
				t.Fatalf("%q: accepted action name %q", text, name)
			}
			if r.MinDelta > r.MaxDelta || r.Window() > scoreboard.MaxRuleWindow ||
				min(r.Cooldown, r.MaxTimes.Per, r.Once) < 0 ||
				r.MaxTimes.N < 0 || r.MaxTimes.N > scoreboard.MaxQuota ||
				(r.MaxTimes.N == 0) != (r.MaxTimes.Per == 0) ||
				slices.Contains(r.Keys, "") || slices.Contains(r.Users, "") ||
				max(len(r.Keys), len(r.Users)) > scoreboard.MaxRuleNames {
				t.Fatalf("%q: rule exceeds the bounds: %+v", text, r)
			}
			in := scoreboard.Increment{Action: name, Delta: r.MaxDelta + 1} // wraps around at the largest delta
			if in.Delta != r.MinDelta &&
				wire.CodeOf(
					rules.Of(name).Check(&in, time.Time{}, nil),
				) != wire.CodeDeltaOutOfRange {
				t.Fatalf("%q: %s accepts delta %d", text, name, in.Delta)
			}
			written = append(written, write(name, &r))
		}
		again, err := scoreboard.ParseRules(written)
		if err != nil || !reflect.DeepEqual(again, rules) {
			t.Fatalf("%q is %+v, and %q is %+v, %v", text, rules, written, again, err)
		}
	})
}

// write formats a rule as in a configuration.
func write(name string, r *scoreboard.Rule) string {
	text := fmt.Sprintf("%s:%d:%d", name, r.MinDelta, r.MaxDelta)
	for what, d := range map[string]time.Duration{"cooldown": r.Cooldown, "once": r.Once} {
		if d != 0 {
			text += fmt.Sprintf(";%s=%s", what, d)
		}
	}
	if r.Repeats {
		text += ";once=0"
	}
	if r.MaxTimes != (scoreboard.Quota{}) {
		text += fmt.Sprintf(";max=%d/%s", r.MaxTimes.N, r.MaxTimes.Per)
	}
	if r.ServersOnly {
		text += ";by=servers"
	}
	if r.Disabled {
		text += ";by=nobody"
	}
	if r.Keys != nil {
		text += ";by=" + strings.Join(r.Keys, "+")
	}
	if r.Users != nil {
		users := make([]string, len(r.Users))
		for i, user := range r.Users {
			users[i] = string(user)
		}
		text += ";users=" + strings.Join(users, "+")
	}
	if r.Scope != "" {
		text += ";scope=" + r.Scope
	}
	return text
}

// What is shown for a correction cannot be the action of a client's event.
func TestActionsOfCorrectionsAreReserved(t *testing.T) {
	t.Parallel()
	for action, ok := range map[string]bool{
		"": true, "chop": true, "adjusted": true, "undoing": true, "adjust": false, "reversal:x": false, "undo:": false,
		"a b": false,
	} {
		if err := scoreboard.CheckClientAction(action); (err == nil) != ok {
			t.Errorf("action %q: %v", action, err)
		}
	}
}
