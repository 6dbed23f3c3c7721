package protocol_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestEventRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		score := scoreboard.Score(rapid.Int64Range(-scoreboard.MaxScore, scoreboard.MaxScore).Draw(t, "score"))
		at := time.UnixMicro(rapid.Int64Range(1, 1<<51).Draw(t, "at")).UTC()
		want := scoreboard.Change{
			Type:       scoreboard.ChangeScore,
			Event:      [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "event")),
			Board:      "daily:2026-11-21",
			User:       scoreboard.UserID(rapid.StringMatching(`[A-Za-z0-9._:@-]{1,64}`).Draw(t, "user")),
			Score:      score,
			Delta:      rapid.Int64().Draw(t, "delta"),
			Version:    3,
			Revision:   2,
			Key:        -int64(score),
			ReachedAt:  at,
			RecordedAt: at,
			Hidden:     rapid.Bool().Draw(t, "hidden"),
		}
		if rapid.Bool().Draw(t, "had") {
			want.Previous = &score
		}
		got, _, err := protocol.DecodeEvent(protocol.AppendEvent(nil, &want))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*got, want) {
			t.Fatalf("got %+v, want %+v", *got, want)
		}
	})
}

const tooLarge = "9007199254740992" // 2^53

func TestDecodeEventRejects(t *testing.T) {
	t.Parallel()
	good := protocol.AppendEvent(nil, &scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 1, Revision: 1,
		ReachedAt: time.Unix(1, 0), RecordedAt: time.Unix(1, 0),
	})
	cases := map[string]func(string) string{
		"not JSON":        func(s string) string { return s[1:] },
		"trailing":        func(s string) string { return s + "{}" },
		"unknown type":    func(s string) string { return strings.Replace(s, "score.changed", "score.guessed", 1) },
		"bad user":        func(s string) string { return strings.Replace(s, "alice", "al|ice", 1) },
		"bad board":       func(s string) string { return strings.Replace(s, "global", "Glo bal", 1) },
		"bad event":       func(s string) string { return strings.Replace(s, "00000000-", "zzzzzzzz-", 1) },
		"score too large": func(s string) string { return strings.Replace(s, `"score":5`, `"score":`+tooLarge, 1) },
		"wrong order key": func(s string) string { return strings.Replace(s, `"order_key":-5`, `"order_key":-6`, 1) },
		"no revision":     func(s string) string { return strings.Replace(s, `"revision":1`, `"revision":0`, 1) },
		"schema zero":     func(s string) string { return strings.Replace(s, `"schema":1`, `"schema":0`, 1) },
	}
	if _, _, err := protocol.DecodeEvent(good); err != nil {
		t.Fatalf("the valid event: %v", err)
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := protocol.DecodeEvent([]byte(spoil(string(good))))
			if err == nil || errors.Is(err, protocol.ErrNewerSchema) {
				t.Errorf("got %v, want an error other than ErrNewerSchema", err)
			}
		})
	}
	_, _, err := protocol.DecodeEvent([]byte(strings.Replace(string(good), `"schema":1`, `"schema":2`, 1)))
	if !errors.Is(err, protocol.ErrNewerSchema) {
		t.Errorf("a newer schema: got %v, want ErrNewerSchema", err)
	}
}

func TestHeartbeatRoundTrip(t *testing.T) {
	t.Parallel()
	want := scoreboard.Heartbeat{Shard: 1, Shards: 2, Partitions: 16, AsOf: time.UnixMicro(1_800_000_000_000_001).UTC()}
	_, got, err := protocol.DecodeEvent(protocol.AppendHeartbeat(nil, want))
	if err != nil || *got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, spoilt := range []scoreboard.Heartbeat{
		{Shard: 2, Shards: 2, Partitions: 1, AsOf: want.AsOf},
		{Shards: 1, AsOf: want.AsOf},
	} {
		if _, _, err := protocol.DecodeEvent(protocol.AppendHeartbeat(nil, spoilt)); err == nil {
			t.Errorf("%+v is accepted", spoilt)
		}
	}
}

func TestUnknownEventFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	event := string(protocol.AppendEvent(nil, &scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 1, Revision: 1,
		ReachedAt: time.Unix(1, 0), RecordedAt: time.Unix(1, 0),
	}))
	later := `{"season":{"id":[1,-2.5e3,true,null,"a\"}"],"empty":{},"none":[]},` + event[1:]
	if c, _, err := protocol.DecodeEvent([]byte(later)); err != nil || c.User != "alice" {
		t.Errorf("got %+v, %v", c, err)
	}
	deep := `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,`
	for _, broken := range []string{`{"x":tru,`, `{"x":1.,`, `{"x":{"y"},`, `{"x":[1,],`, deep} {
		if _, _, err := protocol.DecodeEvent([]byte(broken + event[1:])); err == nil {
			t.Errorf("%.20s is accepted", broken)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add(protocol.AppendHeartbeat(nil, scoreboard.Heartbeat{Shards: 1, Partitions: 1, AsOf: time.Unix(1, 0)}))
	f.Add([]byte(`{"schema":1,"x":[{"y":null}]}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		c, _, err := protocol.DecodeEvent(value)
		if err != nil || c == nil {
			return
		}
		again, _, err := protocol.DecodeEvent(protocol.AppendEvent(nil, c))
		if err != nil || again.User != c.User || again.Score != c.Score || again.Revision != c.Revision {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}

func BenchmarkDecodeEvent(b *testing.B) {
	value := protocol.AppendEvent(nil, &scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "user-1234", Score: 5, Key: -5, Version: 1, Revision: 1,
		ReachedAt: time.Unix(1, 0), RecordedAt: time.Unix(1, 0),
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := protocol.DecodeEvent(value); err != nil {
			b.Fatal(err)
		}
	}
}
