package ws

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// masked is a client's frame: first byte as given, payload masked.
func masked(first byte, payload string) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n <= 125:
		b = append(b, maskBit|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, maskBit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, maskBit|127), uint64(n))
	}
	mask := []byte{1, 2, 3, 250}
	b = append(b, mask...)
	for i := range len(payload) {
		b = append(b, payload[i]^mask[i&3])
	}
	return b
}

// fed returns the messages that a parser finds in pieces, and the close code.
func fed(limit int, pieces ...[]byte) (got []string, bad *violation) {
	p := parser{limit: limit}
	for _, piece := range pieces {
		bad = p.feed(bytes.Clone(piece), func(op byte, payload []byte) bool {
			got = append(got, fmt.Sprintf("%x %s", op, payload))
			return true
		})
		if bad != nil {
			return got, bad
		}
	}
	return got, nil
}

func TestParser(t *testing.T) {
	t.Parallel()
	join := func(frames ...[]byte) []byte { return bytes.Join(frames, nil) }
	long := strings.Repeat("x", 200)
	cases := []struct {
		name string
		in   []byte
		want []string
		code int
	}{
		{"text", masked(0x81, "hello"), []string{"1 hello"}, 0},
		{"empty text", masked(0x81, ""), []string{"1 "}, 0},
		{"long text", masked(0x81, long), []string{"1 " + long}, 0},
		{"two", join(masked(0x81, "a"), masked(0x81, "b")), []string{"1 a", "1 b"}, 0},
		{"fragments", join(masked(0x01, "a"), masked(0x00, "b"), masked(0x80, "c")), []string{"1 abc"}, 0},
		{"fragments of a rune", join(masked(0x01, "\xc3"), masked(0x80, "\xa4")), []string{"1 ä"}, 0},
		{"ping between", join(masked(0x01, "a"), masked(0x89, "p"), masked(0x80, "b")), []string{"9 p", "1 ab"}, 0},
		{"pong", masked(0x8a, "x"), []string{"a x"}, 0},
		{"close", masked(0x88, "\x03\xe8bye"), []string{"8 \x03\xe8bye"}, 0},
		{"close without a code", masked(0x88, ""), []string{"8 "}, 0},
		{"application's close", masked(0x88, "\x0f\xa1"), []string{"8 \x0f\xa1"}, 0},
		{"half a close code", masked(0x88, "\x03"), nil, 1002},
		{"reserved code", masked(0x88, "\x03\xed"), nil, 1002},
		{"unknown code", masked(0x88, "\x07\xd0"), nil, 1002},
		{"close reason with invalid UTF-8", masked(0x88, "\x03\xe8\xff"), nil, 1002},
		{"not masked", []byte{0x81, 1, 'a'}, nil, 1002},
		{"reserved bit", masked(0xc1, "a"), nil, 1002},
		{"reserved data opcode", masked(0x83, "a"), nil, 1002},
		{"reserved control opcode", masked(0x8b, "a"), nil, 1002},
		{"fragmented ping", masked(0x09, "a"), nil, 1002},
		{"long ping", masked(0x89, long), nil, 1002},
		{"continuation without a message", masked(0x80, "a"), nil, 1002},
		{"text within a message", join(masked(0x01, "a"), masked(0x81, "b")), nil, 1002},
		{"binary", masked(0x82, "a"), nil, 1003},
		{"binary fragment", masked(0x02, "a"), nil, 1003},
		{"invalid UTF-8", masked(0x81, "\xff"), nil, 1007},
		{"too big", masked(0x81, strings.Repeat("x", 301)), nil, 1009},
		{"too big in fragments", join(masked(0x01, long), masked(0x80, long)), nil, 1009},
		{"empty fragments", join(masked(0x01, "a"), bytes.Repeat(masked(0x00, ""), maxParts)), nil, 1009},
		{
			"many messages in fragments", bytes.Repeat(join(masked(0x01, "a"), masked(0x80, "b")), 2*maxParts),
			slices.Repeat([]string{"1 ab"}, 2*maxParts), 0,
		},
		{"maximum size", masked(0x81, strings.Repeat("x", 300)), []string{"1 " + strings.Repeat("x", 300)}, 0},
		{"length beyond 63 bits", []byte{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, nil, 1009},
	}
	for _, c := range cases {
		got, bad := fed(300, c.in)
		var single [][]byte
		for i := range c.in {
			single = append(single, c.in[i:i+1])
		}
		bytewise, badToo := fed(300, single...)
		code := 0
		if bad != nil {
			code = bad.code
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || code != c.code {
			t.Errorf("%s: got %q, %d, want %q, %d", c.name, got, code, c.want, c.code)
		}
		if fmt.Sprint(bytewise) != fmt.Sprint(got) || badToo != bad {
			t.Errorf("%s: byte by byte got %q, %v, want %q, %v", c.name, bytewise, badToo, got, bad)
		}
	}
}

func TestParserKeepsNothing(t *testing.T) {
	t.Parallel()
	p := parser{limit: readLimit}
	random := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		in := masked(0x81, strings.Repeat("y", random.IntN(readLimit)))
		cut := random.IntN(len(in))
		if p.feed(bytes.Clone(in[:cut]), func(byte, []byte) bool { return true }) != nil ||
			p.feed(bytes.Clone(in[cut:]), func(byte, []byte) bool { return true }) != nil {
			t.Fatal("refused")
		}
		if p.rest != nil || p.text != nil {
			t.Fatalf("the parser keeps %d and %d bytes between messages", len(p.rest), len(p.text))
		}
	}
}

func TestFrameLengths(t *testing.T) {
	t.Parallel()
	for n, head := range map[int]string{
		0: "8100", 1: "8101", 125: "817d", 126: "817e007e", 65535: "817effff", 65536: "817f0000000000010000",
	} {
		payload := bytes.Repeat([]byte("z"), n)
		got := appendFrame(nil, opText, payload)
		if want, _ := hex.DecodeString(head); !bytes.Equal(got, append(want, payload...)) {
			t.Errorf("%d bytes: got head % x, want %s", n, got[:min(len(got), 10)], head)
		}
	}
}

func FuzzParser(f *testing.F) {
	f.Add(masked(0x81, "hello"), uint8(3))
	f.Add(append(masked(0x01, "a"), masked(0x80, "b")...), uint8(8))
	f.Add(masked(0x88, "\x03\xe8bye"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, at uint8) {
		cut := min(int(at), len(in))
		whole, bad := fed(64, in)
		pieces, badToo := fed(64, in[:cut], in[cut:])
		if fmt.Sprint(whole) != fmt.Sprint(pieces) || bad != badToo {
			t.Errorf("cut at %d: got %q, %v, want %q, %v", cut, pieces, badToo, whole, bad)
		}
	})
}
