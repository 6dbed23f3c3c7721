// Package plural counts things in English.
package plural

import "fmt"

// Count is a count and its noun: "1 user", "2 users".
func Count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
