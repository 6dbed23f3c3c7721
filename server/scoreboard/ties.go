package scoreboard

import "time"

// Ties is how equal scores rank.
type Ties string

const (
	// TiesShared gives equal scores the same rank: 1 + the number of users with a better score, or
	// with the same and a better subscore.
	TiesShared Ties = "shared"
	// TiesFirst has the user ahead that reached the score first: the order of every board, and
	// of rows with the same rank.
	TiesFirst Ties = "first"
	// TiesLast has the user ahead that reached it last, in a what-if only.
	TiesLast Ties = "last"
)

// tiesUnique is the default of a board, TiesFirst, in requests.
const tiesUnique = "unique"

// ParseTies parses the setting of a board.
func ParseTies(s string) (Ties, error) {
	switch s {
	case "", tiesUnique:
		return "", nil
	case string(TiesShared):
		return TiesShared, nil
	}
	return "", Invalid("ties", "ties must be unique or shared")
}

// SharesRanks reports whether equal scores have the same rank on b.
func (b *Board) SharesRanks() bool { return b.Ties == TiesShared }

// beforeTimes is a time before every time of a standing.
var beforeTimes = time.Unix(0, 0).UTC()

// RankedAt returns the position that decides the rank of a standing: the rank is 1 + the
// number of standings ahead of it.
func (b *Board) RankedAt(p Position) Position {
	if b.SharesRanks() {
		return Position{Key: p.Key, SubKey: p.SubKey, ReachedAt: beforeTimes}
	}
	return p
}

// ShareRanks changes the ranks of rows, which are a part of a board in its order, from those of
// the order to shared ones; first is that of the first row.
func ShareRanks(rows []Entry, first int64) {
	for i := range rows {
		switch {
		case i == 0:
			rows[i].Rank = first
		case rows[i].Pair() == rows[i-1].Pair():
			rows[i].Rank = rows[i-1].Rank
		}
	}
}

// ShareRanks is ShareRanks for the rows of a page, which keeps where they are in the order.
func (t *Top) ShareRanks(first int64) {
	if len(t.Entries) > 0 {
		t.First = t.Entries[0].Rank
		ShareRanks(t.Entries, first)
	}
}

// Ordinal returns the rank of row i in the order of the board, as if ranks were unique.
func (t *Top) Ordinal(i int) int64 {
	if t.First > 0 {
		return t.First + int64(i)
	}
	return t.Entries[0].Rank + int64(i)
}
