package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// policy returns a policy without bounds.
func policy(rules scoreboard.Rules, anomalies scoreboard.Anomalies) *scoreboard.IngestPolicy {
	return &scoreboard.IngestPolicy{Rules: rules, Anomalies: anomalies, MinDelta: -maxScore, MaxDelta: maxScore}
}

func action(
	user scoreboard.UserID, delta int64, event, name string, boards ...scoreboard.BoardID,
) scoreboard.Increment {
	in := increment(user, delta, event, boards...)
	in.Action = name
	return in
}

// Each rule is tried with events in one batch, at one time, and in two batches.
func TestActionRules(t *testing.T) {
	t.Parallel()
	const violated = wire.CodeRuleViolated
	server, key := action("ada", 5, "e1", "chop", "b"), action("ada", 5, "e1", "chop", "b")
	server.Server, key.KeyID = true, "k1"
	first := action("ada", 5, "e1", "chop", "b")
	again := action("ada", 5, "e2", "chop", "b")
	for _, c := range []struct {
		name  string
		rule  scoreboard.Rule
		first scoreboard.Increment
		in    scoreboard.Increment
		after time.Duration // between the two
		want  wire.Code
	}{
		{"the least delta", scoreboard.Rule{MinDelta: 5, MaxDelta: 9}, first, again, 0, ""},
		{
			"below it",
			scoreboard.Rule{MinDelta: 5, MaxDelta: 9},
			first, action("ada", 4, "e2", "chop", "b"), 0,
			wire.CodeDeltaOutOfRange,
		},
		{"the most", scoreboard.Rule{MaxDelta: 9}, first, action("ada", 9, "e2", "chop", "b"), 0, ""},
		{
			"above it",
			scoreboard.Rule{MaxDelta: 9},
			first, action("ada", 10, "e2", "chop", "b"), 0,
			wire.CodeDeltaOutOfRange,
		},
		{"within the cooldown", scoreboard.Rule{Cooldown: 5 * time.Second}, first, again, 5*time.Second - 1, violated},
		{"after the cooldown", scoreboard.Rule{Cooldown: 5 * time.Second}, first, again, 5 * time.Second, ""},
		{
			"another user's cooldown",
			scoreboard.Rule{Cooldown: time.Hour},
			action("bob", 5, "e1", "chop", "b"), again,
			0, "",
		},
		{
			"another action's cooldown",
			scoreboard.Rule{Cooldown: time.Hour},
			action("ada", 5, "e1", "mine", "b"), again,
			0, "",
		},
		{"once, the same again", scoreboard.Rule{Once: time.Minute}, first, again, time.Minute - 1, violated},
		{"once, another delta", scoreboard.Rule{Once: time.Minute}, first, action("ada", 6, "e2", "chop", "b"), 0, ""},
		{"once, another board", scoreboard.Rule{Once: time.Minute}, first, action("ada", 5, "e2", "chop", "c"), 0, ""},
		{
			"once, the same boards in another order",
			scoreboard.Rule{Once: time.Minute},
			action("ada", 5, "e1", "chop", "b", "c"), action("ada", 5, "e2", "chop", "c", "b"),
			time.Second, violated,
		},
		{
			"once, the same boards in another order at once",
			scoreboard.Rule{Once: time.Minute},
			action("ada", 5, "e1", "chop", "b", "c"), action("ada", 5, "e2", "chop", "c", "b"),
			0, violated,
		},
		{"once, after the window", scoreboard.Rule{Once: time.Minute}, first, again, time.Minute, ""},
		{
			"one per minute",
			scoreboard.Rule{MaxTimes: scoreboard.Quota{N: 1, Per: time.Minute}},
			first, again,
			time.Minute - 1, violated,
		},
		{
			"one per minute, a minute later",
			scoreboard.Rule{MaxTimes: scoreboard.Quota{N: 1, Per: time.Minute}},
			first,
			again, time.Minute, "",
		},
		{"two per minute", scoreboard.Rule{MaxTimes: scoreboard.Quota{N: 2, Per: time.Minute}}, first, again, 0, ""},
		{
			"an event on two boards counts once",
			scoreboard.Rule{MaxTimes: scoreboard.Quota{N: 2, Per: time.Minute}},
			action("ada", 5, "e1", "chop", "b", "c"), again, time.Second, "",
		},
		{"servers only", scoreboard.Rule{ServersOnly: true}, server, again, 0, violated},
		{"from a server", scoreboard.Rule{ServersOnly: true}, server, withEvent(server, "e2"), 0, ""},
		{"keys", scoreboard.Rule{Keys: []string{"k1"}}, key, again, 0, violated},
		{"with the key", scoreboard.Rule{Keys: []string{"k1"}}, key, withEvent(key, "e2"), 0, ""},
		{"disabled", scoreboard.Rule{Disabled: true}, increment("ada", 1, "e1", "b"), again, 0, violated},
		{"a repeat within the cooldown", scoreboard.Rule{Cooldown: time.Hour}, first, first, 0, ""},
	} {
		if c.rule.MaxDelta == 0 {
			c.rule.MaxDelta = 100
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMemory(board("b", scoreboard.ModeIncrement), board("c", scoreboard.ModeIncrement))
			m.policy = policy(scoreboard.Rules{"chop": c.rule}, scoreboard.Anomalies{})
			if c.after == 0 {
				o := m.record(t, c.first, c.in)
				wantCode(t, "the first", o[0].Err, "")
				wantCode(t, "the second", o[1].Err, c.want)
				return
			}
			wantCode(t, "the first", m.record(t, c.first)[0].Err, "")
			m.now = noon.Add(c.after)
			wantCode(t, "the second", m.record(t, c.in)[0].Err, c.want)
		})
	}
}

func withEvent(in scoreboard.Increment, event string) scoreboard.Increment {
	id, err := scoreboard.ParseEventID(in.User, event)
	if err != nil {
		panic(err)
	}
	in.Event = id
	return in
}

// Only events that count use a rule up.
func TestRejectedEventDoesNotCountForItsRule(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeIncrement))
	m.policy = policy(scoreboard.Rules{"chop": {
		MinDelta: -maxScore, MaxDelta: maxScore, MaxTimes: scoreboard.Quota{N: 1, Per: time.Hour},
	}}, scoreboard.Anomalies{})
	o := m.record(t, action("ada", 0, "e1", "chop", "b"), action("ada", 1, "e2", "chop", "b"),
		action("ada", 1, "e3", "chop", "b"))
	for i, want := range []wire.Code{wire.CodeInvalidRequest, "", wire.CodeRuleViolated} {
		wantCode(t, "event", o[i].Err, want)
	}
}

// Nothing is read for actions without a rule that looks back.
func TestActivityRequestsOnlyWhatRulesNeed(t *testing.T) {
	t.Parallel()
	rules := scoreboard.Rules{
		"chop": {
			MaxDelta: 9, Cooldown: time.Minute, Once: time.Hour, MaxTimes: scoreboard.Quota{N: 1, Per: time.Second},
		},
		"mine": {MaxDelta: 9},
	}
	items := []scoreboard.Increment{
		action("ada", 1, "e1", "chop", "b"), action("ada", 1, "e2", "chop", "b"), action("ada", 1, "e3", "mine", "b"),
		increment("ada", 1, "e4", "b"), action("bob", 1, "e5", "chop", "b"),
	}
	a := &ledger.NewBatch(items, shards, policy(rules, scoreboard.Anomalies{})).Activity
	if !slices.Equal(a.ActionUsers, []string{"ada", "bob"}) || !slices.Equal(a.Actions, []string{"chop", "chop"}) ||
		!slices.Equal(a.ActionWindows, []time.Duration{time.Hour, time.Hour}) {
		t.Errorf("actions %v of %v within %v", a.Actions, a.ActionUsers, a.ActionWindows)
	}
	if n, window := a.Events(); n != 0 || window != 0 {
		t.Errorf("%d events within %s, want none", n, window)
	}
	travel := scoreboard.Anomalies{Travel: scoreboard.AnomalyLog, TravelWindow: 48 * time.Hour}
	a = &ledger.NewBatch(items, shards, policy(nil, travel)).Activity
	if n, window := a.Events(); n == 0 || window != 48*time.Hour || len(a.Actions) != 0 {
		t.Errorf("%d events within %s, want some within 48h", n, window)
	}
}

func TestAnomalyThresholds(t *testing.T) {
	t.Parallel()
	travel := scoreboard.Anomalies{Travel: scoreboard.AnomalyFlag, TravelWindow: time.Hour}
	for _, c := range []struct {
		name  string
		rules scoreboard.Anomalies
		delta int64
		from  string // country; the earlier events are from DE
		after time.Duration
		want  string
	}{
		{"as large as allowed", scoreboard.Anomalies{Size: scoreboard.AnomalyFlag, SizeFactor: 3}, 30, "", 0, ""},
		{"larger", scoreboard.Anomalies{Size: scoreboard.AnomalyFlag, SizeFactor: 3}, 31, "", 0, "size"},
		{"larger, negative", scoreboard.Anomalies{Size: scoreboard.AnomalyFlag, SizeFactor: 3}, -31, "", 0, "size"},
		{"the sixth of six", scoreboard.Anomalies{
			Frequency: scoreboard.AnomalyFlag, MaxEvents: scoreboard.Quota{N: 6, Per: time.Minute},
		}, 1, "", 0, ""},
		{"the sixth of five", scoreboard.Anomalies{
			Frequency: scoreboard.AnomalyFlag, MaxEvents: scoreboard.Quota{N: 5, Per: time.Minute},
		}, 1, "", 0, "frequency"},
		{"the sixth of five, later", scoreboard.Anomalies{
			Frequency: scoreboard.AnomalyFlag, MaxEvents: scoreboard.Quota{N: 5, Per: time.Minute},
		}, 1, "", time.Minute, ""},
		{"as much as allowed", scoreboard.Anomalies{
			Amount: scoreboard.AnomalyFlag, MaxPoints: scoreboard.Quota{N: 60, Per: time.Minute},
		}, 10, "", 0, ""},
		{"more", scoreboard.Anomalies{
			Amount: scoreboard.AnomalyFlag, MaxPoints: scoreboard.Quota{N: 60, Per: time.Minute},
		}, 11, "", 0, "amount"},
		{"the same country", travel, 1, "DE", 0, ""},
		{"another country", travel, 1, "FR", 0, "travel"},
		{"another country, later", travel, 1, "FR", time.Hour, ""},
		{"an unknown country", travel, 1, "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var before []scoreboard.Increment
			for i := range 5 {
				in := increment("ada", 10, fmt.Sprint("e", i), "b")
				in.Country = "DE"
				before = append(before, in)
			}
			in := increment("ada", c.delta, "e", "b")
			in.Country = c.from
			detect := func(m *memory, items ...scoreboard.Increment) string {
				b, err := m.begin(items, policy(nil, c.rules))
				if err != nil {
					t.Fatal(err)
				}
				b.Decide()
				for _, o := range b.Outcomes {
					wantCode(t, "the event", o.Err, "")
				}
				flags := ""
				for _, f := range b.Activity.Flags() {
					if f.Event != in.Event || f.User != "ada" || f.Board != "b" || f.Delta != c.delta {
						t.Errorf("flag %+v, want the last event", f)
					}
					flags += f.Rule
				}
				return flags
			}
			if c.after == 0 {
				m := newMemory(board("b", scoreboard.ModeIncrement))
				if got := detect(m, append(before, in)...); got != c.want {
					t.Errorf("in one batch: flags %q, want %q", got, c.want)
				}
			}
			m := newMemory(board("b", scoreboard.ModeIncrement))
			m.record(t, before...)
			m.now = noon.Add(max(c.after, time.Second))
			if got := detect(m, in); got != c.want {
				t.Errorf("in two batches: flags %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnomalyModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode            scoreboard.AnomalyMode
		code            wire.Code
		found, reviewed int
	}{
		{"", "", 0, 0},
		{scoreboard.AnomalyOff, "", 0, 0},
		{scoreboard.AnomalyLog, "", 2, 0},
		{scoreboard.AnomalyFlag, "", 2, 1},
		{scoreboard.AnomalyEnforce, wire.CodeRuleViolated, 2, 1},
	} {
		m := newMemory(board("b", scoreboard.ModeIncrement))
		rules := scoreboard.Anomalies{
			Size: scoreboard.AnomalyLog, SizeFactor: 1000, // detection is on in any case
			Amount: c.mode, MaxPoints: scoreboard.Quota{N: 10, Per: time.Hour},
		}
		b, err := m.begin([]scoreboard.Increment{
			increment("ada", 10, "e1", "b"), increment("ada", 11, "e2", "b"), increment("ada", 12, "e3", "b"),
		}, policy(nil, rules))
		if err != nil {
			t.Fatal(err)
		}
		b.Decide()
		wantCode(t, "within the threshold", b.Outcomes[0].Err, "")
		for _, o := range b.Outcomes[1:] {
			wantCode(t, string(c.mode), o.Err, c.code)
		}
		flags := b.Activity.Flags()
		if len(b.Activity.Anomalies) != c.found || len(flags) != c.reviewed {
			t.Errorf("mode %q: anomalies %+v, flags %+v; want %d, %d",
				c.mode, b.Activity.Anomalies, flags, c.found, c.reviewed)
		}
		if len(flags) == 1 && flags[0].Event.Text != "e3" {
			t.Errorf("mode %q: event %s is flagged, want the last one", c.mode, flags[0].Event.Text)
		}
		if want := map[bool]int{true: 3, false: 1}[c.code == ""]; b.Rows.Len() != want {
			t.Errorf("mode %q: %d rows, want %d", c.mode, b.Rows.Len(), want)
		}
	}
}

// The amount is what the event applies to the score, not what it submits.
func TestAmountIsWhatIsApplied(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeBest))
	m.record(t, increment("ada", 100, "e1", "b"))
	m.policy = policy(nil, scoreboard.Anomalies{
		Amount: scoreboard.AnomalyEnforce, MaxPoints: scoreboard.Quota{N: 120, Per: time.Hour},
	})
	o := m.record(t,
		increment("ada", 110, "e2", "b"), increment("ada", 90, "e3", "b"), increment("ada", 121, "e4", "b"))
	for i, want := range []wire.Code{"", "", wire.CodeRuleViolated} {
		wantCode(t, "event", o[i].Err, want)
	}
}

// The country before an event is the one of the event just before it, also within
// one batch.
func TestTravelStartsAtTheLatestEvent(t *testing.T) {
	t.Parallel()
	var items []scoreboard.Increment
	for i, country := range []string{"DE", "FR", "FR", "", "DE"} {
		in := increment("ada", 1, fmt.Sprint("e", i), "b")
		in.Country = country
		items = append(items, in)
	}
	b, err := newMemory(board("b", scoreboard.ModeIncrement)).begin(items,
		policy(nil, scoreboard.Anomalies{Travel: scoreboard.AnomalyLog, TravelWindow: time.Hour}))
	if err != nil {
		t.Fatal(err)
	}
	b.Decide()
	var events []string
	for _, a := range b.Activity.Anomalies {
		events = append(events, a.Event.Text)
	}
	// An event without a country neither travels nor hides where the user was.
	if want := []string{"e1", "e4"}; !slices.Equal(events, want) {
		t.Errorf("travel at %v, want %v", events, want)
	}
}
