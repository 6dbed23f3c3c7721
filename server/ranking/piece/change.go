package piece

import (
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// UserChanges are the newest changes of users of one board.
type UserChanges = map[scoreboard.UserID]*scoreboard.Change

// AppendChange appends a change as put.lua reads it.
func AppendChange(args []any, c *scoreboard.Change) []any {
	hidden := "0"
	if c.Hidden {
		hidden = "1"
	}
	return append(
		args, string(c.User), strconv.FormatInt(c.Revision, 10), strconv.FormatInt(c.Key, 10), prefix(c),
		strconv.FormatInt(c.Version, 10), hidden,
	)
}

// A notice ends with optional words; a build ignores those that it does not know. They are hides, if the
// batch hides a user, or complete and what makes the notice sufficient without reading the board:
// as_of, and when each user that moved reached the score. Before complete, or instead of
// it, traced has the W3C traceparent of one sampled change.
const (
	Hides    = "hides"
	Complete = "complete="
	Traced   = "trace="
)

// AppendMoved writes "user score revision version " for a notice; the score is "score:subscore"
// unless the latter is 0.
func AppendMoved(b []byte, c *scoreboard.Change) []byte {
	b = append(b, c.User...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(c.Score), 10)
	if c.Subscore != 0 {
		b = strconv.AppendInt(append(b, ':'), int64(c.Subscore), 10)
	}
	b = append(b, ' ')
	b = strconv.AppendInt(b, c.Revision, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, c.Version, 10)
	return append(b, ' ')
}

// AppendAsOf begins the word that makes a notice complete.
func AppendAsOf(b []byte, asOf time.Time) []byte {
	return strconv.AppendInt(append(b, Complete...), asOf.UnixMicro(), 10)
}

// AppendReached adds the time at which the next user reached the score.
func AppendReached(b []byte, c *scoreboard.Change) []byte {
	return strconv.AppendInt(append(b, ','), c.ReachedAt.UnixMicro(), 10)
}
