package cluster

import "encoding/binary"

// messages finds the boundaries of PostgreSQL protocol messages in a stream
// that arrives in chunks.
type messages struct {
	first bool   // the client's first message has no type byte
	count int    // messages that have passed whole
	head  []byte // an incomplete header
	left  int    // bytes of the current message that have not arrived
}

// header is a type byte (absent in the client's first message) and a length.
func (m *messages) headerSize() int {
	if m.first {
		return 4
	}
	return 5
}

// next returns where the message that begins or goes on at from ends, its type
// and, where it lies whole in the chunk, its body. It is false at the end of
// the chunk.
func (m *messages) next(chunk []byte, from int) (end int, kind byte, body []byte, ok bool) {
	if from >= len(chunk) {
		return 0, 0, nil, false
	}
	if m.left > 0 { // the rest of a message that began in an earlier chunk
		n := min(m.left, len(chunk)-from)
		m.left -= n
		if m.left == 0 {
			m.count++
		}
		return from + n, 0, nil, true
	}
	need := m.headerSize() - len(m.head)
	if len(chunk)-from < need {
		m.head = append(m.head, chunk[from:]...)
		return len(chunk), 0, nil, true
	}
	m.head = append(m.head, chunk[from:from+need]...)
	at := from + need
	length := int(binary.BigEndian.Uint32(m.head[len(m.head)-4:])) - 4
	if !m.first {
		kind = m.head[0]
	}
	m.head, m.first = m.head[:0], false
	n := min(max(length, 0), len(chunk)-at)
	if m.left = max(length, 0) - n; m.left == 0 {
		m.count++
		body = chunk[at : at+n]
	}
	return at + n, kind, body, true
}

// skip counts the messages of a chunk that passes whole.
func (m *messages) skip(chunk []byte) {
	for at, ok := 0, true; ok; {
		at, _, _, ok = m.next(chunk, at)
	}
}
