package scoreboard

import "time"

// NextReset returns when the period after that of an instance begins, if that is still to
// come; zero otherwise, and for a board without periods. After a season that is the start of
// the next one that is planned. Periods are the instances of its family in the order of their
// starts.
func (b *Board) NextReset(periods []*Board, now time.Time) time.Time {
	if b.Period != PeriodSeason {
		if b.PeriodEnd.After(now) {
			return b.PeriodEnd
		}
		return time.Time{}
	}
	for _, later := range periods {
		if !later.PeriodStart.Before(b.PeriodEnd) {
			if later.PeriodStart.After(now) {
				return later.PeriodStart
			}
			break
		}
	}
	return time.Time{}
}
