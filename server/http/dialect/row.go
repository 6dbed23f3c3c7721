package dialect

import (
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// name is what a row shows of a user: the display name, or the id if there is none.
func name(e *scoreboard.Entry) string {
	if e.Profile != nil && e.Profile.DisplayName != "" {
		return e.Profile.DisplayName
	}
	return string(e.User)
}

// numericID is a user id that JSON shows as a number where it is a decimal integer below
// 2^53, as such a number is read back.
type numericID string

// MarshalJSON implements json.Marshaler.
func (id numericID) MarshalJSON() ([]byte, error) {
	return protocol.AppendNumericID(nil, scoreboard.UserID(id)), nil
}

// instant is a time as the native API writes it.
func instant(t time.Time) time.Time { return scoreboard.WritableTime(t).UTC() }

// topRows is how many rows the specifications show.
const topRows = 10

// first returns the first n rows of top, or all.
func first(top *scoreboard.Top, n int) []scoreboard.Entry {
	return top.Entries[:min(n, len(top.Entries))]
}
