package protocol_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestFeedsByteForByte(t *testing.T) {
	t.Parallel()
	before := scoreboard.Score(4000)
	at := time.Date(2026, 11, 23, 12, 0, 0, 123_456_000, time.FixedZone("", 3600))
	c := scoreboard.Change{
		Type: scoreboard.ChangeScore, Event: [16]byte{0x3f, 15: 0x5b}, Board: "plain", User: "123", Score: 4500,
		Previous: &before, Delta: 500, Version: 9, Revision: 7, Key: -4500, ReachedAt: at, RecordedAt: at,
	}
	const (
		event = `{"schema":1,"type":"score.changed","event_id":"3f000000-0000-0000-0000-00000000005b",` +
			`"board":"plain","user_id":"123","score":4500,"previous_score":4000,"delta":500,"version":9,"revision":7,` +
			`"order_key":-4500,"reached_at":"2026-11-23T11:00:00.123456Z",` +
			`"recorded_at":"2026-11-23T11:00:00.123456Z","hidden":false}`
		cloudEvent = `{"specversion":"1.0","type":"com.github.scoreboard.score.changed","source":"/v1/boards/plain",` +
			`"id":"123/7/3f000000-0000-0000-0000-00000000005b","subject":"123","time":"2026-11-23T11:00:00.123456Z",` +
			`"partitionkey":"plain/123","datacontenttype":"application/json","data":` + event + `}`
		score = `{"userId":123,"score":4500,"version":7,"updatedAt":"2026-11-23T11:00:00.123456Z"}`
		// An id is a text here, also one that is a number.
		highscore = `{"player_id":"123","score":4500,"ts":"2026-11-23T11:00:00.123456Z"}`
	)
	for want, got := range map[string][]byte{
		score: protocol.AppendScoreEvent(nil, &c), cloudEvent: protocol.AppendCloudEvent(nil, &c),
		highscore: protocol.AppendHighscoreEvent(nil, &c),
	} {
		if string(got) != want || !json.Valid(got) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestNumericID(t *testing.T) {
	t.Parallel()
	for user, want := range map[scoreboard.UserID]string{
		"0": "0", "123": "123", "9007199254740991": "9007199254740991", "9007199254740992": `"9007199254740992"`,
		"007": `"007"`, "-1": `"-1"`, "1.5": `"1.5"`, "1e3": `"1e3"`, "1_0": `"1_0"`, "alice": `"alice"`,
		"18446744073709551616": `"18446744073709551616"`,
	} {
		if got := string(protocol.AppendNumericID(nil, user)); got != want {
			t.Errorf("%s: got %s, want %s", user, got, want)
		}
	}
}
