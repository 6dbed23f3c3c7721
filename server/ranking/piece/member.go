package piece

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PrefixLength is the length of reached_at in a member.
const PrefixLength = 8

// Prefix is reached_at as bytes whose order is that of time. Microseconds,
// because that is what PostgreSQL keeps.
func Prefix(reached time.Time) string {
	var b [PrefixLength]byte
	binary.BigEndian.PutUint64(b[:], uint64(reached.UnixMicro()))
	return string(b[:])
}

// ReachedAt is the time in a member, or in a state.
func ReachedAt(member string) time.Time {
	return MicroTime(int64(binary.BigEndian.Uint64([]byte(member[:PrefixLength]))))
}

// MicroTime is a time that Redis holds, in UTC: anyone who can write to Redis can store one
// that cannot be written as JSON.
func MicroTime(micros int64) time.Time { return scoreboard.WritableTime(time.UnixMicro(micros)) }

// state is what put.lua stores for a user, behind reached_at.
type state struct {
	Key, Revision, Version int64
	Hidden                 bool
}

// ParseState reads the state of a user.
func ParseState(raw string) (s state, err error) {
	if len(raw) <= PrefixLength {
		return s, fmt.Errorf("read a user's state: %q is too short", raw)
	}
	rest := raw[PrefixLength:]
	for _, to := range []*int64{&s.Key, &s.Revision, &s.Version} {
		field, after, ok := strings.Cut(rest, " ")
		if !ok {
			return s, fmt.Errorf("read a user's state: %q is too short", raw)
		}
		if *to, err = strconv.ParseInt(field, 10, 64); err != nil {
			return s, fmt.Errorf("read a user's state: %w", err)
		}
		rest = after
	}
	s.Hidden = rest == "1"
	return s, nil
}

// ParseKey parses a score of the sorted set. Redis prints integers as such, but a
// stand-in may print 1e+9.
func ParseKey(s string) (int64, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("read a sorted set's score: %w", err)
	}
	return int64(f), nil
}

// UnpackTop parses what first_rows in put.lua packed: "length key user" for each row.
func UnpackTop(packed string, order scoreboard.Order) ([]scoreboard.Entry, error) {
	entries := make([]scoreboard.Entry, 0, scoreboard.TopSize)
	for packed != "" {
		length, rest, ok := strings.Cut(packed, " ")
		key, rest, ok2 := strings.Cut(rest, " ")
		n, err := strconv.Atoi(length)
		if !ok || !ok2 || err != nil || n < 1 || n > len(rest) {
			return nil, fmt.Errorf("read the merged top of a board: row %d is malformed", len(entries)+1)
		}
		k, err := ParseKey(key)
		if err != nil {
			return nil, err
		}
		entries = append(entries, scoreboard.Entry{
			Rank: int64(len(entries) + 1), User: scoreboard.UserID(rest[:n]), Score: order.Score(k),
		})
		packed = rest[n:]
	}
	return entries, nil
}
