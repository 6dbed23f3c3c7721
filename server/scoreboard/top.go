package scoreboard

import "time"

// After returns t with what follows from before, a state of the same epoch, and from
// the moves between the two: when its rows were reached, and that everything in before
// is in t too. Reached stays nil where it does not follow: before is not the state
// directly before t, its own times are unknown, or a row has no known time.
func (t *Top) After(before *Top, moved []Moved) *Top {
	next := *t
	if before.AsOf.After(next.AsOf) {
		next.AsOf = before.AsOf
	}
	if next.Reached == nil && t.Version == before.Version+1 && len(before.Reached) == len(before.Entries) {
		next.Reached = t.reachedAfter(before, moved)
	}
	return &next
}

func (t *Top) reachedAfter(before *Top, moved []Moved) []time.Time {
	times := make(map[UserID]time.Time, len(moved))
	for i := range moved {
		times[moved[i].User] = moved[i].ReachedAt
	}
	var index map[UserID]int // of before, made when the first row has another rank
	reached := make([]time.Time, len(t.Entries))
	for i := range t.Entries {
		e := &t.Entries[i]
		if at, ok := times[e.ID()]; ok {
			if at.IsZero() {
				return nil // not every notice says it
			}
			reached[i] = at
			continue
		}
		j, known := i, i < len(before.Entries) && before.Entries[i].ID() == e.ID()
		if !known {
			if index == nil {
				index = make(map[UserID]int, len(before.Entries))
				for k := range before.Entries {
					index[before.Entries[k].ID()] = k
				}
			}
			j, known = index[e.ID()]
		}
		if !known || before.Entries[j].Pair() != e.Pair() {
			return nil
		}
		reached[i] = before.Reached[j]
	}
	return reached
}
