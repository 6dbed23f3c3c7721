package history

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// standing is a row of a checkpoint. The user's number is a key of checkpoint_users.
type standing struct {
	key     int64
	reached int64 // microseconds since 1970
	number  int64
}

// position is the position of a standing of a named user.
func (s *standing) position(user scoreboard.UserID) scoreboard.Position {
	return scoreboard.Position{Key: s.key, ReachedAt: time.UnixMicro(s.reached).UTC(), User: user}
}

// compare orders a standing and a position by key and time; 0 leaves it to the names.
func (s *standing) compare(p *scoreboard.Position) int {
	reached := p.ReachedAt.UnixMicro()
	switch {
	case s.key < p.Key || s.key == p.Key && s.reached < reached:
		return -1
	case s.key > p.Key || s.reached > reached:
		return 1
	}
	return 0
}

// appendStandings encodes standings as differences: of about ten bytes each.
func appendStandings(b []byte, standings []standing) []byte {
	var last standing
	for i := range standings {
		s := &standings[i]
		b = binary.AppendVarint(b, s.key-last.key)
		b = binary.AppendVarint(b, s.reached-last.reached)
		b = binary.AppendUvarint(b, uint64(s.number))
		last = *s
	}
	return b
}

var errBlock = errors.New("a block of a checkpoint is damaged")

// readStandings decodes n standings.
func readStandings(b []byte, n int) ([]standing, error) {
	standings := make([]standing, n)
	var last standing
	for i := range standings {
		key, a := binary.Varint(b)
		b = b[max(a, 0):]
		reached, c := binary.Varint(b)
		b = b[max(c, 0):]
		number, d := binary.Uvarint(b)
		b = b[max(d, 0):]
		if a <= 0 || c <= 0 || d <= 0 {
			return nil, errBlock
		}
		last = standing{last.key + key, last.reached + reached, int64(number)}
		standings[i] = last
	}
	if len(b) > 0 {
		return nil, errBlock
	}
	return standings, nil
}
