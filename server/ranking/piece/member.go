package piece

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// keyLength is the length of reached_at, and of a subscore's key, in a member.
const keyLength = 8

// Orders is how the rows of a board are ordered before the time decides: by the score and, if
// submissions have one, by the subscore ("" if not). What it has under "order" in Redis is its text.
type Orders struct{ Score, Subscore scoreboard.Order }

// OrdersOf returns the orders of a board.
func OrdersOf(b *scoreboard.Board) Orders { return Orders{b.Order, b.Subscore} }

// ParseOrders reads what String has written.
func ParseOrders(text string) Orders {
	score, subscore, _ := strings.Cut(text, " ")
	return Orders{scoreboard.Order(score), scoreboard.Order(subscore)}
}

func (o Orders) String() string {
	if o.Subscore == "" {
		return string(o.Score)
	}
	return string(o.Score) + " " + string(o.Subscore)
}

// Width is the length of what comes before the user in a member: reached_at or, on a board with
// subscores, the key of the subscore and reached_at (width.lua).
func (o Orders) Width() int {
	if o.Subscore == "" {
		return keyLength
	}
	return 2 * keyLength
}

// Keys are the keys of a score and its subscore: scoreboard.Board.Keys.
type Keys struct{ Key, SubKey int64 }

// Tie is the part of a member that rows with the same rank have in common, where equal scores
// share ranks.
func (o Orders) Tie(member string) string { return member[:o.Width()-keyLength] }

// Pair returns the score of a key, and the subscore of a member or a state.
func (o Orders) Pair(key int64, member string) scoreboard.Pair {
	p := scoreboard.Pair{Score: o.Score.Score(key)}
	if o.Subscore != "" {
		p.Subscore = o.Subscore.Score(parseSubKey(member))
	}
	return p
}

// ReachedAt is the time in a member, or in a state.
func (o Orders) ReachedAt(member string) time.Time { return reachedAt(member[:o.Width()]) }

// reachedAt is the time at the end of a prefix.
func reachedAt(prefix string) time.Time {
	return MicroTime(int64(binary.BigEndian.Uint64([]byte(prefix[len(prefix)-keyLength:]))))
}

// User is the user of a member.
func (o Orders) User(member string) scoreboard.UserID { return scoreboard.UserID(member[o.Width():]) }

// Entry is the row of a member, which must be longer than Width.
func (o Orders) Entry(rank, key int64, member string) scoreboard.Entry {
	p := o.Pair(key, member)
	return scoreboard.Entry{Rank: rank, User: o.User(member), Score: p.Score, Subscore: p.Subscore}
}

// Member is the member of a position.
func (o Orders) Member(at *scoreboard.Position) string {
	if o.Subscore == "" {
		return timePrefix(at.ReachedAt) + string(at.User)
	}
	return SubPrefix(at.SubKey) + timePrefix(at.ReachedAt) + string(at.User)
}

// SubPrefix is the key of a subscore as bytes whose order is that of the keys.
func SubPrefix(key int64) string {
	var b [keyLength]byte
	binary.BigEndian.PutUint64(b[:], uint64(key)^1<<63)
	return string(b[:])
}

func parseSubKey(member string) int64 {
	return int64(binary.BigEndian.Uint64([]byte(member[:keyLength])) ^ 1<<63)
}

// timePrefix is reached_at as bytes whose order is that of time. Microseconds,
// because that is what PostgreSQL keeps.
func timePrefix(reached time.Time) string {
	var b [keyLength]byte
	binary.BigEndian.PutUint64(b[:], uint64(reached.UnixMicro()))
	return string(b[:])
}

// prefix is what the member and the state of a change begin with. A change does not say whether
// its board has subscores, so a key of 0 is left to the script, which knows it.
func prefix(c *scoreboard.Change) string {
	if c.SubKey == 0 {
		return timePrefix(c.ReachedAt)
	}
	return SubPrefix(c.SubKey) + timePrefix(c.ReachedAt)
}

// MicroTime is a time that Redis holds, in UTC: anyone who can write to Redis can store one
// that cannot be written as JSON.
func MicroTime(micros int64) time.Time { return scoreboard.WritableTime(time.UnixMicro(micros)) }

// state is what put.lua stores for a user.
type state struct {
	Prefix                 string
	Key, Revision, Version int64
	Hidden                 bool
}

// ParseState reads the state of a user on a board with prefixes of this length.
func ParseState(raw string, width int) (s state, err error) {
	if len(raw) <= width {
		return s, fmt.Errorf("read a user's state: %q is too short", raw)
	}
	s.Prefix = raw[:width]
	rest := raw[width:]
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

// UnpackTop parses what first_rows in put.lua packed: "length key user" for each row, with the
// key of the subscore, if there is one, before the user.
func UnpackTop(packed string, o Orders) ([]scoreboard.Entry, error) {
	head := o.Width() - keyLength // what remains of the prefix
	entries := make([]scoreboard.Entry, 0, scoreboard.TopSize)
	for packed != "" {
		length, rest, ok := strings.Cut(packed, " ")
		key, rest, ok2 := strings.Cut(rest, " ")
		n, err := strconv.Atoi(length)
		if !ok || !ok2 || err != nil || n <= head || n > len(rest) {
			return nil, fmt.Errorf("read the merged top of a board: row %d is malformed", len(entries)+1)
		}
		k, err := ParseKey(key)
		if err != nil {
			return nil, err
		}
		p := o.Pair(k, rest)
		entries = append(entries, scoreboard.Entry{
			Rank: int64(len(entries) + 1), User: scoreboard.UserID(rest[head:n]), Score: p.Score, Subscore: p.Subscore,
		})
		packed = rest[n:]
	}
	return entries, nil
}
