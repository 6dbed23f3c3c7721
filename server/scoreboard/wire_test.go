package scoreboard_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestEventSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		score := scoreboard.Score(rapid.Int64Range(-scoreboard.MaxScore, scoreboard.MaxScore).Draw(t, "score"))
		at := time.UnixMicro(rapid.Int64Range(1, 1<<51).Draw(t, "at")).UTC()
		want := scoreboard.Change{
			Type: scoreboard.ChangeScore, Event: [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "event")),
			Board: "daily:2026-11-21", User: scoreboard.UserID(rapid.StringMatching(`[A-Za-z0-9._:@-]{1,64}`).Draw(t, "user")),
			Score: score, Delta: rapid.Int64().Draw(t, "delta"), Version: 3, Revision: 2, Key: -int64(score),
			ReachedAt: at, RecordedAt: at, Hidden: rapid.Bool().Draw(t, "hidden"),
		}
		if rapid.Bool().Draw(t, "had") {
			want.Previous = &score
		}
		got, _, err := scoreboard.DecodeEvent(want.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*got, want) {
			t.Fatalf("got %+v, want %+v", *got, want)
		}
	})
}

func TestDecodeEventRefuses(t *testing.T) {
	t.Parallel()
	good := (&scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 1, Revision: 1,
		ReachedAt: time.Unix(1, 0), RecordedAt: time.Unix(1, 0),
	}).AppendJSON(nil)
	cases := map[string]func(string) string{
		"no JSON":         func(s string) string { return s[1:] },
		"trailing":        func(s string) string { return s + "{}" },
		"unknown type":    func(s string) string { return strings.Replace(s, "score.changed", "score.guessed", 1) },
		"bad user":        func(s string) string { return strings.Replace(s, "alice", "al|ice", 1) },
		"bad board":       func(s string) string { return strings.Replace(s, "global", "Glo bal", 1) },
		"bad event":       func(s string) string { return strings.Replace(s, "00000000-", "zzzzzzzz-", 1) },
		"score beyond":    func(s string) string { return strings.Replace(s, `"score":5`, `"score":9007199254740992`, 1) },
		"key of another":  func(s string) string { return strings.Replace(s, `"order_key":-5`, `"order_key":-6`, 1) },
		"revision absent": func(s string) string { return strings.Replace(s, `"revision":1`, `"revision":0`, 1) },
		"ancient schema":  func(s string) string { return strings.Replace(s, `"schema":1`, `"schema":0`, 1) },
	}
	if _, _, err := scoreboard.DecodeEvent(good); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := scoreboard.DecodeEvent([]byte(spoil(string(good))))
			if err == nil || errors.Is(err, scoreboard.ErrNewerSchema) {
				t.Errorf("got %v, want it called malformed", err)
			}
		})
	}
	_, _, err := scoreboard.DecodeEvent([]byte(strings.Replace(string(good), `"schema":1`, `"schema":2`, 1)))
	if !errors.Is(err, scoreboard.ErrNewerSchema) {
		t.Errorf("a newer schema: got %v, want ErrNewerSchema", err)
	}
}
