package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
)

func TestCheckObject(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{}`: true, ` {"name":"x","boards":["a",{"b":[1,true,false]}]} `: true,
		`{"a":null}`: false, `{"a":[{"b":null}]}`: false,
		`{"name":"x","name":"y"}`: false, `{"a":{"b":1,"b":2}}`: false, `{"name":"x","Name":"y"}`: false,
		`{"NAME":"x"}`: false, `{"ſcope":"x"}`: false, `{}{}`: false, `{}}`: false, `{}]`: false,
		`[]`: false, `null`: false, ``: false, `{"a":01}`: false, `{"a":}`: false, `{"a":1,}`: false,
		`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`: false,
	} {
		if err := protocol.CheckObject([]byte(body), ""); (err == nil) != want {
			t.Errorf("%.60s: got %v", body, err)
		}
	}
}

// Fields of a name may contain what no other may.
func TestCheckObjectWithAnyJSON(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"any":{"itemId":null,"Größe":"\u0000"}}`: true, `{"list":[{"any":null}],"b":1}`: true,
		`{"any":{},"B":1}`: false, `{"any":null,"b":null}`: false, `{"any":{"A":1},"b":"\u0000"}`: false,
		`{"any":{"a":1,"a":2}}`: false, `{"any":1,"any":2}`: false, `{"any":{"a":nul}}`: false,
		`{"any":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`: false,
	} {
		if err := protocol.CheckObject([]byte(body), "any"); (err == nil) != want {
			t.Errorf("%.60s: got %v", body, err)
		}
	}
}

// Accepted bytes are JSON without duplicate fields.
func FuzzCheckObject(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,"c",-0.5e3,true,null]}}`))
	f.Add([]byte(`{"a":1,"\u0061":2}`))
	f.Add([]byte("{\"a\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if protocol.CheckObject(body, "") == nil && !json.Valid(body) {
			t.Fatalf("%q is accepted, but is not JSON", body)
		}
	})
}

// Any bytes may be sent as a batch; an accepted one is within its bounds.
func FuzzDecodeBatch(f *testing.F) {
	f.Add(
		[]byte(
			`{"items":[{"user_id":"a","delta":5,"event_id":"e",` +
				`"timestamp":"2026-11-21T12:00:00Z","boards":["a","b"]}]}`,
		),
	)
	f.Add([]byte(`{"items":[]}`))
	f.Add([]byte(`{"items":[{"delta":05}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := protocol.DecodeBatch(body)
		if err != nil {
			return
		}
		if len(b.Items) > wire.MaxBatch || !json.Valid(body) {
			t.Fatalf("%q: %d items", body, len(b.Items))
		}
	})
}

// Any bytes may arrive as an accepted increment; decoding is as strict as for
// requests.
func FuzzDecodeAccepted(f *testing.F) {
	f.Add(
		[]byte(
			`{"schema":1,"user_id":"a","delta":5,"event_id":"e","boards":["global"],` +
				`"timestamp":"2026-11-21T12:00:00Z","accepted_at":"2026-11-21T12:00:00Z",` +
				`"action_id":"3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b"}`,
		),
	)
	f.Add([]byte(`{"schema":1,"user_id":"a","delta":5,"event_id":"e","boards":["weekly"],` +
		`"timestamp":"2026-11-21T12:00:00Z","accepted_at":"2026-11-21T12:00:00Z","if_period":"weekly:2026-w47"}`))
	f.Add([]byte(`{"schema":1,"user_id":"a","delta":5,"event_id":"e","boards":["global"],` +
		`"timestamp":"2026-11-21T12:00:00Z","accepted_at":"2026-11-21T12:00:00Z","subscore":-3}`))
	f.Add([]byte(`{"schema":9}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"schema":1,"user_id":"a","delta":5,"event_id":"e","boards":["global"],"timestamp":"` +
		beforeTheCalendar + `","accepted_at":"` + afterTheCalendar + `"}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		in, err := protocol.DecodeAccepted(value)
		if err != nil {
			return
		}
		if len(in.Boards) == 0 || in.User == "" || in.Event.Text == "" {
			t.Fatalf("%q is decoded as %+v", value, in)
		}
		again, err := protocol.DecodeAccepted(protocol.EncodeAccepted(in))
		if err != nil || again.PayloadHash() != in.PayloadHash() || again.IfPeriod != in.IfPeriod ||
			(again.Subscore == nil) != (in.Subscore == nil) ||
			!again.Accepted.Equal(in.Accepted) {
			t.Fatalf("%+v became %+v, %v", in, again, err)
		}
	})
}

// Increments that differ in a signed field have different texts to sign.
func FuzzFieldText(f *testing.F) {
	f.Add("alice", int64(5), "e", "2026", "global", "", "kill", "alice", int64(5), "e", "2026", "", "global", "kill")
	f.Add("a", int64(1), "e|t", "", "", "", "", "a", int64(1), "e", "t|", "", "", "")
	f.Fuzz(func(t *testing.T, u1 string, d1 int64, e1, t1, b1, c1, a1, u2 string, d2 int64, e2, t2, b2, c2, a2 string) {
		one := increment(u1, d1, e1, t1, b1, c1, a1)
		two := increment(u2, d2, e2, t2, b2, c2, a2)
		if one == nil || two == nil {
			return
		}
		same := u1 == u2 && d1 == d2 && e1 == e2 && t1 == t2 &&
			strings.Join(boards(b1, c1), ",") == strings.Join(boards(b2, c2), ",") &&
			a1 == a2
		if !same && string(one.FieldText()) == string(two.FieldText()) {
			t.Fatalf("%+v and %+v have the same text to sign %q", one, two, one.FieldText())
		}
	})
}

func boards(names ...string) (out []string) {
	for _, name := range names {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// increment returns nil for an impossible request: fields with the delimiter are
// rejected before the signature is verified.
func increment(user string, delta int64, event, timestamp, board, other, action string) *wire.IncrementRequest {
	if strings.ContainsAny(user+event+timestamp+action, "|") || strings.ContainsAny(board+other, "|,") {
		return nil
	}
	return &wire.IncrementRequest{
		UserID: user, Delta: delta, EventID: event, Timestamp: timestamp, Boards: boards(board, other), Action: action,
	}
}
