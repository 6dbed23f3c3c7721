package pg

import "time"

// AsOf is the time that data can claim to be complete up to: the earlier of what the
// database's clock said in the transaction that read them and what this process's
// clock said before. A database whose clock is ahead must not make old data look new;
// with a clock that is behind they only look older than they are.
func AsOf(database, before time.Time) time.Time {
	if before.Before(database) {
		return before.UTC().Truncate(time.Microsecond)
	}
	return database.UTC()
}
