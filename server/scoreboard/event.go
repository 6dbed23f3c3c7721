package scoreboard

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
)

// EventID identifies one event of one user. UUID is the unique key in
// the ledger; Text is what the client sent and gets back.
type EventID struct {
	UUID [16]byte
	Text string
}

// MaxEventIDLength is the longest event id, in bytes.
const MaxEventIDLength = 128

// eventNamespace is the UUIDv5 namespace for event ids that are not UUIDs. It must
// never change: a retry under another namespace would count twice.
var eventNamespace = [16]byte{
	0x8f,
	0x3a,
	0x1c,
	0x52,
	0x6d,
	0x0e,
	0x4b,
	0x91,
	0xa7,
	0x44,
	0x2e,
	0xd0,
	0x95,
	0xb8,
	0xf6,
	0x13,
}

// ParseEventID parses 1 to 128 of A-Z a-z 0-9 . _ : @ -. A canonical 8-4-4-4-12
// UUID in either case is used as it is. Any other string maps to the UUIDv5 of user
// and string, so equal strings of two users do not collide.
func ParseEventID(user UserID, s string) (EventID, error) {
	if !isName(s, MaxEventIDLength) {
		return EventID{}, Invalid("event_id",
			"event_id must be 1 to %d characters of A-Z a-z 0-9 . _ : @ -", MaxEventIDLength)
	}
	if u, ok := parseUUID(s); ok {
		return EventID{UUID: u, Text: s}, nil
	}
	return EventID{UUID: nameUUID(user, s), Text: s}, nil
}

// IsUUID reports whether Text is the canonical lower-case form of UUID, so that
// only the UUID needs storing.
func (id EventID) IsUUID() bool { return id.Text == FormatUUID(id.UUID) }

// NewEventID returns a random id (UUIDv4).
func NewEventID() EventID {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return EventID{UUID: u, Text: FormatUUID(u)}
}

// NamedEventID is the id that a text always has for a user (UUIDv5).
func NamedEventID(user UserID, text string) EventID {
	u := nameUUID(user, text)
	return EventID{UUID: u, Text: FormatUUID(u)}
}

// FormatUUID formats u as 8-4-4-4-12 in lower case.
func FormatUUID(u [16]byte) string {
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], u[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], u[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], u[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], u[10:16])
	return string(b[:])
}

// ParseUUID parses a canonical 8-4-4-4-12 UUID in either case.
func ParseUUID(s string) ([16]byte, error) {
	u, ok := parseUUID(s)
	if !ok {
		return u, Invalid("", "invalid UUID %.40q", s)
	}
	return u, nil
}

func parseUUID(s string) (u [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return u, false
	}
	n := 0
	for i := 0; i < 36; {
		if s[i] == '-' {
			i++
			continue
		}
		hi, ok1 := hexDigit(s[i])
		lo, ok2 := hexDigit(s[i+1])
		if !ok1 || !ok2 {
			return u, false
		}
		u[n] = hi<<4 | lo
		n++
		i += 2
	}
	return u, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// nameUUID returns the UUIDv5 (RFC 9562, 5.5) of user, a zero byte and text.
func nameUUID(user UserID, text string) (u [16]byte) {
	h := sha1.New()
	h.Write(eventNamespace[:])
	h.Write([]byte(user))
	h.Write([]byte{0})
	h.Write([]byte(text))
	copy(u[:], h.Sum(nil))
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return u
}
