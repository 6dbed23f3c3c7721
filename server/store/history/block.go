package history

import (
	"cmp"
	"encoding/binary"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// standing is a row of a checkpoint. The user's number is a key of checkpoint_users.
type standing struct {
	keys
	reached int64 // microseconds since 1970
	number  int64
}

// keys are the sort keys of a score and its subscore.
type keys struct{ key, subKey int64 }

func keysOf(p *scoreboard.Position) keys { return keys{p.Key, p.SubKey} }

func (k keys) compare(other keys) int {
	if c := cmp.Compare(k.key, other.key); c != 0 {
		return c
	}
	return cmp.Compare(k.subKey, other.subKey)
}

// position is the position of users who reached a score at a time.
func (k keys) position(reached time.Time, user scoreboard.UserID) scoreboard.Position {
	return scoreboard.Position{Key: k.key, SubKey: k.subKey, ReachedAt: reached, User: user}
}

// keysOn returns the keys of a pair on a board.
func keysOn(board *scoreboard.Board, p scoreboard.Pair) (k keys) {
	k.key, k.subKey = board.Keys(p)
	return k
}

// position is the position of a standing of a named user.
func (s *standing) position(user scoreboard.UserID) scoreboard.Position {
	return s.keys.position(time.UnixMicro(s.reached).UTC(), user)
}

// compare orders a standing and a position by keys and time; 0 leaves it to the names.
func (s *standing) compare(p *scoreboard.Position) int {
	if c := s.keys.compare(keysOf(p)); c != 0 {
		return c
	}
	return cmp.Compare(s.reached, p.ReachedAt.UnixMicro())
}

// appendStandings encodes standings as differences: of about ten bytes each. Those of a board with subscores
// have them, too.
func appendStandings(b []byte, standings []standing, of *scoreboard.Board) []byte {
	var last standing
	for i := range standings {
		s := &standings[i]
		b = binary.AppendVarint(b, s.key-last.key)
		if of.HasSubscores() {
			b = binary.AppendVarint(b, s.subKey-last.subKey)
		}
		b = binary.AppendVarint(b, s.reached-last.reached)
		b = binary.AppendUvarint(b, uint64(s.number))
		last = *s
	}
	return b
}

var errBlock = errors.New("a block of a checkpoint is damaged")

// readStandings decodes n standings of a board.
func readStandings(b []byte, n int, of *scoreboard.Board) ([]standing, error) {
	standings := make([]standing, n)
	var last standing
	for i := range standings {
		key, a := binary.Varint(b)
		b = b[max(a, 0):]
		var subKey int64
		if of.HasSubscores() {
			var e int
			if subKey, e = binary.Varint(b); e <= 0 {
				return nil, errBlock
			}
			b = b[e:]
		}
		reached, c := binary.Varint(b)
		b = b[max(c, 0):]
		number, d := binary.Uvarint(b)
		b = b[max(d, 0):]
		if a <= 0 || c <= 0 || d <= 0 {
			return nil, errBlock
		}
		last = standing{keys{last.key + key, last.subKey + subKey}, last.reached + reached, int64(number)}
		standings[i] = last
	}
	if len(b) > 0 {
		return nil, errBlock
	}
	return standings, nil
}
