package protocol_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Any bytes may be sent as a list of users or a profile; accepted ones are JSON and
// within their bounds.
func FuzzDecodeBodies(f *testing.F) {
	f.Add([]byte(`{"board":"daily","user_ids":["a","b"]}`))
	f.Add([]byte(`{"display_name":"Ada","avatar_url":"https://x.example/a"}`))
	f.Add([]byte(`{"user_ids":["a"],"user_ids":["b"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		const maxUsers = 3
		if u, err := protocol.DecodeUsers(
			body,
			maxUsers,
		); err == nil &&
			(!json.Valid(body) || len(u.UserIDs) < 1 || len(u.UserIDs) > maxUsers) {
			t.Fatalf("%q is decoded as %+v", body, u)
		}
		if p, err := protocol.DecodeProfile(body); err == nil && !json.Valid(body) {
			t.Fatalf("%q is decoded as %+v", body, p)
		}
	})
}

// Any bytes may arrive as a notice; a decoded one has at most a top's rows and can be
// encoded again.
func FuzzDecodeNotice(f *testing.F) {
	f.Add(
		[]byte(
			`{"schema":1,"type":"leaderboard.notice","board":"global","epoch":1,"version":2,"top":[{"rank":1,` +
				`"user_id":"a","score":5}],"moved":[{"user_id":"a","score":5,"revision":1,"version":1}]}`,
		),
	)
	f.Add([]byte(`{"schema":9}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, value []byte) {
		n, err := protocol.DecodeNotice(value)
		if err != nil {
			return
		}
		if len(n.Top.Entries) > scoreboard.TopSize {
			t.Fatalf("%d rows", len(n.Top.Entries))
		}
		text := protocol.EncodeNotice(&n)
		again, err := protocol.DecodeNotice(text)
		if err != nil || !bytes.Equal(protocol.EncodeNotice(&again), text) {
			t.Fatalf("%q is encoded as %q: %v", value, text, err)
		}
	})
}
