package english

import (
	"fmt"
	"strings"
)

// Closest returns "; did you mean WORD?" with the closest known word, or an empty
// string if none is close to typo.
func Closest(typo string, known []string, prefix string) string {
	best, minimum := "", 3
	for _, word := range known {
		if d := distance(typo, word); d < minimum || d == minimum && strings.HasPrefix(word, typo) {
			best, minimum = word, d
		}
	}
	if best == "" || minimum >= len(best) {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// distance returns the optimal string alignment distance of two words.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
