package scoreboard

import (
	"fmt"
	"time"
)

// ArchivedRow is a row of the ledger as the archive has it: columns by name.
type ArchivedRow struct {
	User     UserID     `json:"user_id"`
	Board    BoardID    `json:"board_id"`
	Event    RowEventID `json:"event_id"`
	Delta    int64      `json:"delta"`
	Applied  int64      `json:"applied"`
	Previous *Score     `json:"previous_score"`
	Score    Score      `json:"new_score"`
	// Those of a subscore are null on boards without.
	Subscore         *Score `json:"subscore"`
	PreviousSubscore *Score `json:"previous_subscore"`
	NewSubscore      *Score `json:"new_subscore"`

	Version int64     `json:"version"`
	At      time.Time `json:"recorded_at"`
	Source  Source    `json:"source"`
	Action  string    `json:"action"`
}

// RowEventID is the UUID of an event.
type RowEventID [16]byte

// UnmarshalText parses a UUID.
func (u *RowEventID) UnmarshalText(text []byte) error {
	id, err := ParseUUID(string(text))
	if err != nil {
		return fmt.Errorf("parse an event id: %w", err)
	}
	*u = id
	return nil
}

// KeptCheckpoint is a checkpoint of a moment that is not in the database any more, made from
// the archive.
type KeptCheckpoint struct {
	Board     BoardID
	At        time.Time
	Users     int64
	KeptUntil time.Time
}
