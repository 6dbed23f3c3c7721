package english

import (
	"fmt"
	"strconv"
	"strings"
)

// Count is a count and its noun: "1 user", "2 users".
func Count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Grouped is an integer, of any type, with separators of thousands: "1,234", "-1,234".
func Grouped(integer any) string {
	digits, sign := "", ""
	if n, ok := integer.(int64); ok { // without reflection: screens format thousands of them
		digits = strconv.FormatInt(n, 10)
	} else {
		digits = fmt.Sprint(integer)
	}
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
