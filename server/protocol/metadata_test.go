package protocol_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The examples of RFC 8785, sections 3.2.2 and 3.2.3.
func TestFormOfMetadata(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``: ``,
		`{
     "numbers": [333333333.33333329, 1E30, 4.50,
                 2e-3, 0.000000000000000000000000001],
     "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
     "literals": [null, true, false]
   }`: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
			`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{
     "\u20ac": "Euro Sign",
     "\r": "Carriage Return",
     "\ufb33": "Hebrew Letter Dalet With Dagesh",
     "1": "One",
     "\ud83d\ude00": "Emoji: Grinning Face",
     "\u0080": "Control",
     "\u00f6": "Latin Small Letter O With Diaeresis"
   }`: `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control",` +
			`"ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face",` +
			`"` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		`{"a":-0,"b":9007199254740992,"c":"\u0000<&>"}`: `{"a":0,"b":9007199254740992,"c":"\u0000<&>"}`,
	} {
		if got, err := protocol.ParseMetadata(text); err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

// The numbers of RFC 8785, appendix B.
func TestNumbersInMetadata(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		text := `{"n":` + strconv.FormatFloat(math.Float64frombits(bits), 'e', 17, 64) + `}`
		if got, err := protocol.ParseMetadata(text); err != nil || string(got) != `{"n":`+want+`}` {
			t.Errorf("%016x: got %s, %v, want %s", bits, got, err, want)
		}
	}
}

func TestMetadataThatIsRejected(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	sized := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	for _, text := range []string{
		` `, `{`, `{}x`, `[]`, `[{}]`, `1`, `"{}"`, `null`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{'a':1}`,
		`{"a":nul}`, `{"a":+1}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":0x1}`, `{"a":NaN}`,
		`{"a":1e400}`, `{"a":9007199254740993}`, `{"a":[-9007199254740993]}`, `{"a":1000000000000000000001}`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"x":{"a":1,"a":1}}`,
		"{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}", `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`,
		nested(8), sized(scoreboard.MaxMetadata + 1),
		`{"a":[` + strings.Repeat("1e20,", 100) + `1]}`, // 21 characters each in the form
	} {
		if got, err := protocol.ParseMetadata(text); err == nil {
			t.Errorf("%.80q: got %.80s, want an error", text, got)
		}
	}
	for _, text := range []string{`{}`, nested(7), sized(scoreboard.MaxMetadata)} {
		if got, err := protocol.ParseMetadata(text); err != nil || string(got) != text {
			t.Errorf("got %.80s, %v, want %.80s", got, err, text)
		}
	}
}

// A retry may write the same object otherwise; without metadata the hash is what it was before
// there was any.
func TestPayloadHashWithMetadata(t *testing.T) {
	t.Parallel()
	hash := func(text string) [16]byte {
		t.Helper()
		m, err := protocol.ParseMetadata(text)
		if err != nil {
			t.Fatal(err)
		}
		in := scoreboard.Increment{User: "ada", Delta: 5, Boards: []scoreboard.BoardID{"cup"}, Metadata: m}
		return in.PayloadHash()
	}
	if hash(`{"a":1,"b":[2]}`) != hash(` { "b" : [2.0], "\u0061":1e0 } `) {
		t.Error("the same object has two hashes")
	}
	seen := make(map[[16]byte]string)
	for _, text := range []string{``, `{}`, `{"a":1}`, `{"a":"1"}`, `{"b":1}`} {
		if other, ok := seen[hash(text)]; ok {
			t.Errorf("%q and %q have one hash", text, other)
		}
		seen[hash(text)] = text
	}
}

// What is accepted is JSON, keeps its value, and is its own form.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"b":[1.50,-0,"é\n"],"a":{"":null}}`))
	f.Add([]byte(`{"a":[1e20,1e21,100000000000000000000,9007199254740992]}`))
	f.Add([]byte(`{"":"\ud83d\ude00\u0000"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := protocol.ParseMetadata(text)
		if err != nil || got == "" {
			return
		}
		var was, is any
		if json.Unmarshal(text, &was) != nil || json.Unmarshal([]byte(got), &is) != nil || !reflect.DeepEqual(was, is) {
			t.Fatalf("%q became %q", text, got)
		}
		again, err := protocol.ParseMetadata(got)
		if err != nil || again != got || bytes.ContainsRune([]byte(got), 0) {
			t.Fatalf("%q became %q, %v", got, again, err)
		}
	})
}
