package protocol_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/jsonint"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestDecodeIncrementMatchesEncodingJSON(t *testing.T) {
	t.Parallel()
	bodies := []string{
		`{"delta":5}`,
		" {\n\"user_id\" : \"alice\" ,\t\"delta\" : -12 } ",
		`{"user_id":"\u0061lice","action":"a\"b","boards":["global","daily"],"delta":0}`,
		`{"user_id":"ä","event_id":"x","timestamp":"t","signature":"s","key_id":"k","board":"b",` +
			`"action_token":"at","attestation":"a","delta":1}`,
		`{"boards":[],"delta":-1}`,
		`{"delta":3,"subscore":-2}`,
	}
	for _, body := range bodies {
		var want wire.IncrementRequest
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		got, err := protocol.DecodeIncrement([]byte(body))
		if err != nil || !reflect.DeepEqual(withoutText(*got), want) {
			t.Errorf("%s: got %+v, %v, want %+v", body, got, err, want)
		}
	}
}

func TestDecodeIncrementRejects(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body, field string
		code              wire.Code
	}{
		{"empty", ``, "", wire.CodeInvalidRequest},
		{"an array", `[]`, "", wire.CodeInvalidRequest},
		{"cut short", `{"user_id":"al`, "user_id", wire.CodeInvalidRequest},
		{"no colon", `{"user_id" "alice"}`, "", wire.CodeInvalidRequest},
		{"trailing comma", `{"delta":1,}`, "", wire.CodeInvalidRequest},
		{"two objects", `{"delta":1}{}`, "", wire.CodeInvalidRequest},
		{"duplicate field", `{"delta":1,"delta":2}`, "delta", wire.CodeInvalidRequest},
		{"duplicate field, escaped", `{"delta":1,"d\u0065lta":2}`, "delta", wire.CodeInvalidRequest},
		{"unknown field", `{"score":1}`, "score", wire.CodeInvalidRequest},
		{"another case", `{"Delta":1}`, "Delta", wire.CodeInvalidRequest},
		{"a fraction", `{"delta":1.5}`, "delta", wire.CodeInvalidRequest},
		{"an exponent that leaves a fraction", `{"delta":1e-1}`, "delta", wire.CodeInvalidRequest},
		{"an exponent beyond any number", `{"delta":1e999999999}`, "delta", wire.CodeDeltaOutOfRange},
		{"33 characters", `{"delta":5.0000000000000000000000000000000}`, "delta", wire.CodeInvalidRequest},
		{"a string", `{"delta":"5"}`, "delta", wire.CodeInvalidRequest},
		{"a leading zero", `{"delta":05}`, "delta", wire.CodeInvalidRequest},
		{"a plus", `{"delta":+5}`, "delta", wire.CodeInvalidRequest},
		{"null", `{"delta":null}`, "delta", wire.CodeInvalidRequest},
		{"other digits", `{"delta":٥}`, "delta", wire.CodeInvalidRequest},
		{"beyond 2^53", `{"delta":9007199254740992}`, "delta", wire.CodeDeltaOutOfRange},
		{"beyond 64 bits", `{"delta":99999999999999999999}`, "delta", wire.CodeDeltaOutOfRange},
		{"number as user", `{"user_id":5}`, "user_id", wire.CodeInvalidRequest},
		{"a control character", "{\"user_id\":\"a\nb\"}", "user_id", wire.CodeInvalidRequest},
		{"a bad escape", `{"user_id":"\x"}`, "user_id", wire.CodeInvalidRequest},
		{
			"eleven boards",
			`{"boards":["a","b","c","d","e","f","g","h","i","j","k"]}`,
			"boards",
			wire.CodeInvalidRequest,
		},
		{"two periods", `{"if_period":"w:1","if_period":"w:2"}`, "if_period", wire.CodeInvalidRequest},
		{"a period as an object", `{"if_period":{}}`, "if_period", wire.CodeInvalidRequest},
		{"a fraction as subscore", `{"subscore":1.5}`, "subscore", wire.CodeInvalidRequest},
		{"null as subscore", `{"subscore":null}`, "subscore", wire.CodeInvalidRequest},
		{"a subscore beyond 2^53", `{"subscore":-9007199254740992}`, "subscore", wire.CodeDeltaOutOfRange},
		{"two subscores", `{"subscore":1,"subscore":1}`, "subscore", wire.CodeInvalidRequest},
		{"boards as a string", `{"boards":"a"}`, "boards", wire.CodeInvalidRequest},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := protocol.DecodeIncrement([]byte(c.body))
			var e *scoreboard.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Field != c.field {
				t.Errorf("got %v, want %s about %q", err, c.code, c.field)
			}
		})
	}
}

func TestDecodeBatch(t *testing.T) {
	t.Parallel()
	b, err := protocol.DecodeBatch([]byte(`{"items":[{"delta":1},{"delta":2}]}`))
	if err != nil || len(b.Items) != 2 || b.Items[1].Delta != 2 {
		t.Errorf("got %+v, %v", b, err)
	}
	if b, err := protocol.DecodeBatch([]byte(`{"items":[]}`)); err != nil || len(b.Items) != 0 {
		t.Errorf("no items: got %+v, %v", b, err)
	}
	b, err = protocol.DecodeBatch([]byte(`{"items":[{"delta":0},{},{"user_id":"alice"}]}`))
	if err != nil || b.Items[0].WithoutDelta || !b.Items[1].WithoutDelta || !b.Items[2].WithoutDelta {
		t.Errorf("items without a delta: got %+v, %v", b, err)
	}
	tooMany := `{"items":[` + strings.Repeat(`{},`, wire.MaxBatch) + `{}]}`
	for _, body := range []string{
		tooMany, `{"items":[],"items":[]}`, `{"item":[]}`, `{"items":[{"delta":1,"delta":1}]}`, `{"items":[]} x`,
		`{}`, `null`, `{"items":null}`, `{"items":{}}`, `[]`, ``,
	} {
		if _, err := protocol.DecodeBatch([]byte(body)); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%.40s: got %v, want an error", body, err)
		}
	}
}

// Game engines write whole numbers as 5.0 or 5e0. What is signed is the text of the body.
func TestWholeDeltas(t *testing.T) {
	t.Parallel()
	for _, delta := range []string{"5", "5.0", "5e0", "50E-1", "0.5e+1", "5.000000000000000000000"} {
		body := `{"user_id":"a","delta":` + delta + `,"event_id":"e","timestamp":"t"}`
		r, err := protocol.DecodeIncrement([]byte(body))
		if err != nil || r.Delta != 5 || string(r.FieldText()) != "a|"+delta+"|e|t" {
			t.Errorf("%s: got %+v, %v, want 5 and the text as it was sent", delta, r, err)
		}
		if b, err := protocol.DecodeBatch([]byte(`{"items":[` + body + `]}`)); err != nil || b.Items[0].Delta != 5 {
			t.Errorf("%s in a batch: got %+v, %v", delta, b, err)
		}
	}
}

func TestPlainNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":5.0,"b":[1e2,-3.0E0],"c":"5.0 \" 1e3","d":1.5}`: `{"a":5,"b":[100,-3],"c":"5.0 \" 1e3","d":1.5}`,
		`{"a":1e999999999,"b":05.0,"c":"`:                     `{"a":1e999999999,"b":05.0,"c":"`,
	} {
		if got := string(jsonint.Plain([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func FuzzDecodeIncrement(f *testing.F) {
	f.Add([]byte(`{"user_id":"alice","delta":5,"event_id":"e","timestamp":"2026-11-21T12:00:00Z","boards":["a"]}`))
	f.Add([]byte(`{"delta":1e3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := protocol.DecodeIncrement(body)
		if err != nil {
			return
		}
		// Accepted bodies decode to the same value as with encoding/json.
		var want wire.IncrementRequest
		var fields map[string]json.RawMessage
		plain := jsonint.Plain(body)
		err = errors.Join(json.Unmarshal(plain, &want), json.Unmarshal(plain, &fields))
		want.WithoutDelta = fields["delta"] == nil
		if err != nil || !reflect.DeepEqual(withoutText(*got), want) {
			t.Errorf("got %+v, encoding/json has %+v, %v", *got, want, err)
		}
	})
}

// withoutText returns a request without the text of its delta.
func withoutText(r wire.IncrementRequest) wire.IncrementRequest {
	r.SignedDelta = ""
	return r
}
