package pg

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ScanVoidFailure reads the id of a void, and of one of its events user, id, whether it
// was skipped, reason, attempts and the time of the next attempt.
func ScanVoidFailure(row pgx.CollectableRow) (f scoreboard.VoidFailure, err error) {
	var next *time.Time
	err = row.Scan(&f.Void, &f.User, &f.Event, &f.Skipped, &f.Reason, &f.Attempts, &next)
	if next != nil && !f.Skipped {
		f.Next = next.UTC()
	}
	return f, err
}
