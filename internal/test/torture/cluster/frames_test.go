package cluster

import (
	"encoding/binary"
	"testing"
)

// message is a PostgreSQL message; kind 0 is the client's first, without a type.
func message(kind byte, body string) []byte {
	var b []byte
	if kind != 0 {
		b = append(b, kind)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)+4))
	return append(b, body...)
}

func TestMessagesAreCountedInAnyChunks(t *testing.T) {
	t.Parallel()
	stream := message(0, "startup parameters")
	for _, body := range []string{"", "select 1\x00", "a longer statement that spans chunks\x00", "x"} {
		stream = append(stream, message('Q', body)...)
	}
	for size := 1; size <= len(stream); size++ {
		m := messages{first: true}
		for at := 0; at < len(stream); at += size {
			m.skip(stream[at:min(at+size, len(stream))])
		}
		if m.count != 5 {
			t.Errorf("in chunks of %d: got %d messages, want 5", size, m.count)
		}
	}
}

func TestCutAtCommitKeepsWhatCameBefore(t *testing.T) {
	t.Parallel()
	var got []byte
	write := writerFunc(func(p []byte) (int, error) {
		got = append(got, p...)
		return len(p), nil
	})
	before := message('C', "INSERT 0 1\x00")
	for name, c := range map[string]struct {
		answer []byte
		cut    bool
	}{
		"commit":  {message('C', "COMMIT\x00"), true},
		"another": {message('C', "ROLLBACK\x00"), false},
	} {
		got = nil
		m := &messages{}
		if err := cut(write, before, m, false, Fault{CutAtCommit: true}); err != nil {
			t.Fatalf("%s: the message before was cut: %v", name, err)
		}
		err := cut(write, c.answer, m, false, Fault{CutAtCommit: true})
		if (err != nil) != c.cut {
			t.Errorf("%s: got error %v, want a cut: %t", name, err, c.cut)
		}
		want := len(before)
		if !c.cut {
			want += len(c.answer)
		}
		if len(got) != want {
			t.Errorf("%s: %d bytes were forwarded, want %d", name, len(got), want)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
