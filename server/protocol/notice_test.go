package protocol_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestNoticeRoundTrip(t *testing.T) {
	t.Parallel()
	want := scoreboard.Notice{
		Board: "global",
		Top: &scoreboard.Top{
			Board: "global", Epoch: 7, Version: 42, UpdatedAt: time.UnixMicro(1_800_000_000_000_001).UTC(), Total: 2,
			AsOf:    time.UnixMicro(1_800_000_000_000_000).UTC(),
			Entries: []scoreboard.Entry{{Rank: 1, User: "alice", Score: 9}, {Rank: 2, User: "bob", Score: -3}},
		},
		Moved: []scoreboard.Moved{{User: "bob", Score: -3, Revision: 5, Version: 4}},
	}
	value := protocol.EncodeNotice(&want)
	got, err := protocol.DecodeNotice(value)
	if err != nil || !reflect.DeepEqual(got, want) || strings.Contains(string(value), "subscore") {
		t.Errorf("got %+v, %v of %s, want %+v", got, err, value, want)
	}
	pairs := want
	pairs.Subscores = true
	pairs.Top = new(*want.Top)
	pairs.Top.Subscores, pairs.Top.Entries = true, slices.Clone(want.Top.Entries)
	pairs.Top.Entries[1].Subscore = -7
	pairs.Moved = []scoreboard.Moved{{User: "bob", Score: -3, Subscore: -7, Revision: 5, Version: 4}}
	if got, err := protocol.DecodeNotice(protocol.EncodeNotice(&pairs)); err != nil || !reflect.DeepEqual(got, pairs) {
		t.Errorf("got %+v with top %+v, %v, want %+v", got, got.Top, err, pairs)
	}
	if _, err := protocol.DecodeNotice(
		[]byte(strings.Replace(string(value), `"schema":1`, `"schema":2`, 1)),
	); !errors.Is(
		err,
		protocol.ErrNewerSchema,
	) {
		t.Errorf("a newer schema: %v", err)
	}
	for name, value := range map[string]string{
		"not JSON": "?", "no board": strings.Replace(string(value), `"global"`, `"?"`, 1),
		"another type": strings.Replace(string(value), "leaderboard.notice", "score.changed", 1),
		"updated after the calendar": strings.Replace(
			string(value), `"updated_at":"2027-01-15T08:00:00.000001Z"`, `"updated_at":"`+afterTheCalendar+`"`, 1),
		"as_of before the calendar": strings.Replace(
			string(value), `"as_of":"2027-01-15T08:00:00Z"`, `"as_of":"`+beforeTheCalendar+`"`, 1),
		"no version": strings.Replace(string(value), `"version":42`, `"version":0`, 1),
	} {
		if _, err := protocol.DecodeNotice([]byte(value)); err == nil || errors.Is(err, protocol.ErrNewerSchema) {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
}
