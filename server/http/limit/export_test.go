package limit

import "github.com/scoreboard/scoreboard/server/scoreboard"

// ConnectionsFor is Connections with another lease.
var ConnectionsFor = (*Limiter).connections

// Record writes a record with a number of its own.
func (c *Connections) Record(user scoreboard.UserID, number int64, open int) error {
	return c.pipeline([]record{{user, number, open}}, recordTimeout)
}
