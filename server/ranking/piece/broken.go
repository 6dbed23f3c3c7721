package piece

import (
	"errors"
	"slices"
	"strings"
)

// broken are parts of what Redis answers where a key is of another type or malformed. Any other
// error may be that of the server, a right that is missing, or ours, and removes nothing.
var broken = []string{
	"WRONGTYPE", "not an integer", "not a valid float", "attempt to ", "bad argument #", "is malformed",
}

// ErrNoLayout is why a key says neither that a board is in one piece nor in how many partitions.
var ErrNoLayout = errors.New("what stands for its partitions is not their number")

// IsBroken reports whether an error is about what a board's keys hold.
func IsBroken(err error) bool {
	if err == nil || outage(err) {
		return false
	}
	return errors.Is(err, ErrNoLayout) ||
		slices.ContainsFunc(broken, func(part string) bool { return strings.Contains(err.Error(), part) })
}
