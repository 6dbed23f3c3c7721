package protocol_test

import (
	"encoding/json"
	"errors"
	"math"
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
		subscore := scoreboard.Score(rapid.Int64Range(-scoreboard.MaxScore, scoreboard.MaxScore).Draw(t, "subscore"))
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
			Subscore:   subscore,
			SubKey:     int64(subscore),
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

const (
	tooLarge = "9007199254740992" // 2^53
	// afterTheCalendar is valid RFC 3339, and lies in the year 10000 of UTC.
	afterTheCalendar  = "9999-12-31T23:59:59-14:00"
	beforeTheCalendar = "0001-01-01T00:00:00+14:00"
)

func TestDecodeEventRejects(t *testing.T) {
	t.Parallel()
	good := protocol.AppendEvent(nil, &scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 1, Revision: 1,
		Subscore: 3, SubKey: 3,
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
		"subscore too large": func(s string) string {
			s = strings.Replace(s, `"sub_key":3`, `"sub_key":`+tooLarge, 1)
			return strings.Replace(s, `"subscore":3`, `"subscore":`+tooLarge, 1)
		},
		"wrong sub key":   func(s string) string { return strings.Replace(s, `"sub_key":3`, `"sub_key":4`, 1) },
		"a sub key alone": func(s string) string { return strings.Replace(s, `"subscore":3,`, ``, 1) },
		"no revision":     func(s string) string { return strings.Replace(s, `"revision":1`, `"revision":0`, 1) },
		"reached outside the calendar": func(s string) string {
			return strings.Replace(s, `"reached_at":"1970-01-01T00:00:01Z"`, `"reached_at":"`+afterTheCalendar+`"`, 1)
		},
		"recorded outside the calendar": func(s string) string {
			return strings.Replace(s, `"recorded_at":"1970-01-01T00:00:01Z"`, `"recorded_at":"`+afterTheCalendar+`"`, 1)
		},
		"schema zero": func(s string) string { return strings.Replace(s, `"schema":1`, `"schema":0`, 1) },
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

// An accepted increment of a newer build is one, whatever else it has, so that its partition waits for that build.
func TestAcceptedOfANewerBuild(t *testing.T) {
	t.Parallel()
	event, err := scoreboard.ParseEventID("ada", "match-1")
	if err != nil {
		t.Fatal(err)
	}
	good := string(protocol.EncodeAccepted(&scoreboard.Increment{
		User: "ada", Delta: 5, Event: event, Boards: []scoreboard.BoardID{"global"},
		Accepted: time.Unix(1_800_000_000, 0),
	}))
	if _, err := protocol.DecodeAccepted([]byte(good)); err != nil {
		t.Fatalf("the valid increment: %v", err)
	}
	newer := strings.Replace(good, `"schema":1`, `"schema":2`, 1)
	for _, value := range []string{newer, strings.Replace(newer, `{`, `{"combo":[1],`, 1)} {
		if _, err := protocol.DecodeAccepted([]byte(value)); !errors.Is(err, protocol.ErrNewerSchema) {
			t.Errorf("%s: got %v, want ErrNewerSchema", value, err)
		}
	}
	unknown := strings.Replace(good, `{`, `{"combo":[1],`, 1)
	if _, err := protocol.DecodeAccepted([]byte(unknown)); err == nil || errors.Is(err, protocol.ErrNewerSchema) {
		t.Errorf("an unknown field of this schema: got %v, want another error", err)
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
	for _, asOf := range []string{afterTheCalendar, beforeTheCalendar} {
		beat := `{"schema":1,"type":"heartbeat","shard":0,"shards":1,"partitions":1,"as_of":"` + asOf + `"}`
		if _, got, err := protocol.DecodeEvent([]byte(beat)); err == nil {
			t.Errorf("as_of %s is accepted: %+v", asOf, got)
		}
	}
}

// A background worker that panics ends the daemon: whatever the times are, and wherever
// they come from, these encoders must write something that is decoded again.
func TestEncodersWriteAnyTime(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{
		{},
		time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.UnixMicro(math.MaxInt64), time.UnixMicro(math.MinInt64),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -14*3600)),
		time.Date(2026, 11, 22, 0, 0, 0, 0, time.FixedZone("", 99*3600)),
	} {
		c := scoreboard.Change{
			Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 1, Revision: 1,
			Subscore: 3, SubKey: 3,
			ReachedAt: at, RecordedAt: at,
		}
		if _, _, err := protocol.DecodeEvent(protocol.AppendEvent(nil, &c)); err != nil {
			t.Errorf("event of %s: %v", at, err)
		}
		top := &scoreboard.Top{Board: "global", Epoch: 1, Version: 1, UpdatedAt: at, AsOf: at}
		notice := scoreboard.Notice{Board: "global", Top: top}
		if _, err := protocol.DecodeNotice(protocol.EncodeNotice(&notice)); err != nil {
			t.Errorf("notice of %s: %v", at, err)
		}
		in := scoreboard.Increment{
			User: "alice", Event: scoreboard.EventID{Text: "e"}, Boards: []scoreboard.BoardID{"global"}, Client: at,
			Accepted: at,
		}
		if _, err := protocol.DecodeAccepted(protocol.EncodeAccepted(&in)); err != nil && !at.IsZero() {
			t.Errorf("increment of %s: %v", at, err)
		}
		season := scoreboard.EndedPeriod{Board: scoreboard.Board{PeriodStart: at, PeriodEnd: at, Closed: at}}
		if !json.Valid(protocol.EncodeSeasonClosed(&season)) {
			t.Errorf("season of %s: invalid JSON", at)
		}
	}
}

func TestUnknownEventFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	event := string(protocol.AppendEvent(nil, &scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 1, Revision: 1,
		Subscore: 3, SubKey: 3,
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
	change := scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 1, Revision: 1,
		Subscore: 3, SubKey: 3,
		ReachedAt: time.Unix(1, 0), RecordedAt: time.Unix(1, 0),
	}
	event := string(protocol.AppendEvent(nil, &change))
	f.Add([]byte(strings.ReplaceAll(event, "1970-01-01T00:00:01Z", afterTheCalendar)))
	f.Fuzz(func(t *testing.T, value []byte) {
		c, beat, err := protocol.DecodeEvent(value)
		if beat != nil && (err != nil || !scoreboard.IsWritable(beat.AsOf)) {
			t.Errorf("heartbeat %+v, %v", beat, err)
		}
		if err != nil || c == nil {
			return
		}
		// The projection turns changes into notices.
		top := &scoreboard.Top{Board: c.Board, Epoch: 1, Version: 1, UpdatedAt: c.RecordedAt, AsOf: c.ReachedAt}
		notice := scoreboard.Notice{Board: c.Board, Top: top}
		if _, err := protocol.DecodeNotice(protocol.EncodeNotice(&notice)); err != nil {
			t.Errorf("the notice of %+v: %v", c, err)
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
