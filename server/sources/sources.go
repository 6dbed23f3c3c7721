// Package sources reads the boards of other systems.
//
// The other system is not trusted: whatever it answers, reading ends, in bounded memory.
//
// A reader returns all records of a board in the order of its ranks there, so that equal
// scores keep their order, and checks each: what cannot be imported is an error before
// anything is written.
package sources

import (
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// MaxRecords is the largest board that is read: it is held in memory, about 200 bytes a
// record, and its metadata.
const MaxRecords = 10_000_000

const (
	maxBoards      = 100_000 // that are listed
	connectTimeout = 10 * time.Second
)

// Board is a board of another system.
type Board struct {
	ID     string // there
	Mode   scoreboard.Mode
	Order  scoreboard.Order
	Period scoreboard.Period
	// Schedule is that of a board with the period cron, in UTC.
	Schedule string
	Records  int64
	// Subscores is how many records have a subscore that is not 0. The higher one ranks first where the higher score
	// does.
	Subscores int64
	// Described is how many records have metadata. It is read if Metadata is set, without that of Unfit records,
	// which the server would reject.
	Described int64
	Metadata  bool
	Unfit     int64
	// Lost is what of the board has no counterpart here, in words.
	Lost []string
	// Unsupported is why the board cannot be imported; "" if it can.
	Unsupported string
}

// room is how many records to make room for before they are read: the other system says how many
// there are, and may be wrong.
func (b *Board) room() int64 { return max(0, min(b.Records, 100_000)) }

// errTooMany is the error of a board with more than MaxRecords.
var errTooMany = fmt.Errorf("the board has more than %d records", MaxRecords)

var (
	errScore    = errors.New("the score must be an integer within ±(2^53 − 1)")
	errSubscore = errors.New("the subscore must be an integer within ±(2^53 − 1)")
)

// checked returns the record of a user, a score and a subscore, 0 for none, or why it cannot be imported.
func checked(user string, score, subscore int64) (r scoreboard.ImportRecord, err error) {
	if r.User, err = scoreboard.ParseClientUserID(user); err != nil {
		var invalid *scoreboard.Error
		if errors.As(err, &invalid) {
			err = errors.New(invalid.Message) // without the code of the API
		}
		return r, fmt.Errorf("user %q: %w", user, err)
	}
	if r.Score = scoreboard.Score(score); !r.Score.InRange() {
		return r, fmt.Errorf("user %s has the score %d: %w", user, score, errScore)
	}
	if !scoreboard.Score(subscore).InRange() {
		return r, fmt.Errorf("user %s has the subscore %d: %w", user, subscore, errSubscore)
	}
	if subscore != 0 {
		r.Subscore = new(scoreboard.Score(subscore))
	}
	return r, nil
}
