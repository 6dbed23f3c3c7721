package scoreboard

// Score is a user's points on one board, within ±MaxScore.
type Score int64

// MaxScore bounds scores and deltas: 2^53 − 1, because Redis ranks doubles and
// beyond it two scores could become one.
const MaxScore = 1<<53 - 1

// InRange reports whether s is exact in every store.
func (s Score) InRange() bool { return -MaxScore <= s && s <= MaxScore }
