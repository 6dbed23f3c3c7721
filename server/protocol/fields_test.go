package protocol

import (
	"encoding/json"
	"math"
	"testing"
)

func TestWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "5": 5, "5.0": 5, "5e0": 5, "5E+2": 500, "50e-1": 5, "-7.00": -7, "9007199254740991": 1<<53 - 1,
		"9007199254740991.0": 1<<53 - 1, "0e99": 0, "-0": 0, "0.0e-999999999": 0,
		"1.000000000000000000000000000000": 1, "9007199254740.991e3": 1<<53 - 1, "0.005E3": 5,
		"0.00000000000000000000000005e26": 5,
	} {
		var n int64
		err := DecodeFields([]byte(`{"n":`+text+`}`), true, Field{Name: "n", To: &n})
		if err != nil || n != want {
			t.Errorf("%s: got %d, %v, want %d", text, n, err, want)
		}
	}
	for _, text := range []string{
		"5.5", "4503599627370496.5", "9007199254740992", "-9007199254740992", "1e400", "1e16", "1e-1", "1e999999999",
		"1e-999999999", "05", "+5", "5.", ".5", "0x5", "1_000", "NaN", "Infinity", `"5"`, "null", "true", "[5]", "",
		"1.0000000000000000000000000000000", "-1e999999999", "1e99999999999999999999", "1e-99999999999999999999",
	} {
		n := int64(-1)
		if err := DecodeFields([]byte(`{"n":`+text+`}`), true, Field{Name: "n", To: &n}); err == nil {
			t.Errorf("%s: accepted as %d", text, n)
		}
	}
}

// FuzzDecodeFields: what is accepted means the same to encoding/json.
func FuzzDecodeFields(f *testing.F) {
	for _, seed := range []string{
		`{"userId":"ada","scoreIncrement":5.0,"scoreDelta":-3,"other":{"a":[1,null]}}`, `{"scoreIncrement":1e400}`,
		`{"userId":"\u0041","userId":"b"}`, `{"scoreDelta":1e3}`, `{} {}`,
		`{"other":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var user string
		var whole, delta int64
		var hasUser, hasWhole, hasDelta bool
		if err := DecodeFields(
			body, false,
			Field{"userId", &user, &hasUser}, Field{"scoreIncrement", &whole, &hasWhole},
			Field{"scoreDelta", &delta, &hasDelta},
		); err != nil {
			return
		}
		var same map[string]json.RawMessage // numbers of other fields may exceed any type
		if err := json.Unmarshal(body, &same); err != nil {
			t.Fatalf("accepted %q, which is not JSON: %v", body, err)
		}
		var text string
		if raw, ok := same["userId"]; ok != hasUser || ok && json.Unmarshal(raw, &text) != nil || text != user {
			t.Errorf("%q: got user %q, want %s", body, user, raw)
		}
		for name, got := range map[string]float64{"scoreIncrement": float64(whole), "scoreDelta": float64(delta)} {
			var want float64
			raw, ok := same[name]
			if ok && json.Unmarshal(raw, &want) != nil || got != want || math.Trunc(want) != want {
				t.Errorf("%q: got %s %v, want %s", body, name, got, raw)
			}
		}
	})
}
