package piece

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A board in partitions has the keys of a board for each partition, which holds the users
// that hash to it, and a merged top: the facts of the board and its first rows, merged of the
// partitions'. Partitions are spread over the servers of a cluster, so no script can use
// two of them. The keys that the board would have in one piece say that it is in
// partitions: divide.lua.
//
// Only a rebuild knows the number of partitions from the catalog. Everything else learns it
// from those keys, when a script for a board in one piece fails on them.

// Layout is a board in partitions.
type Layout struct {
	Board scoreboard.BoardID
	Count int
	// Shared has a read return shared ranks; nothing in Redis says whether a board has them.
	Shared bool
	// Subscore is the order of the subscores that a read expects; a board without them in Redis is
	// not loaded.
	Subscore scoreboard.Order
}

// Check returns scoreboard.ErrNotLoaded unless a board has the subscores that a read expects.
func (l Layout) Check(found Orders) error {
	if found.Subscore != l.Subscore {
		return scoreboard.ErrNotLoaded
	}
	return nil
}

// partSeparator cannot be part of a board's name.
const partSeparator = "/"

// Part names a partition, as if it were a board: "board/8/3" is the fourth of eight.
func (l Layout) Part(i int) scoreboard.BoardID {
	return l.Board + scoreboard.BoardID(partSeparator+strconv.Itoa(l.Count)+partSeparator+strconv.Itoa(i))
}

// Parts names every partition.
func (l Layout) Parts() []scoreboard.BoardID {
	list := make([]scoreboard.BoardID, l.Count)
	for i := range list {
		list[i] = l.Part(i)
	}
	return list
}

// Of returns the partition of a user. It must never change: users would be looked for
// where they are not.
func (l Layout) Of(user scoreboard.UserID) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user)) // a hash never fails
	return int(h.Sum32() % uint32(l.Count))
}

// Divide returns the users of each partition, and their indices.
func (l Layout) Divide(users []scoreboard.UserID) (mine [][]scoreboard.UserID, index [][]int) {
	mine, index = make([][]scoreboard.UserID, l.Count), make([][]int, l.Count)
	for i, user := range users {
		of := l.Of(user)
		mine[of], index[of] = append(mine[of], user), append(index[of], i)
	}
	return mine, index
}

// LayoutOf is how a rebuild lays out a board; false for a board in one piece.
func LayoutOf(b *scoreboard.Board) (Layout, bool) {
	return Layout{Board: b.ID, Count: b.Partitions}, b.Partitions > 1
}

// PartOf returns the board of a partition, and of how many it is one; or of a board in one
// piece.
func PartOf(name scoreboard.BoardID) (board scoreboard.BoardID, count int, divided bool) {
	text, numbers, found := strings.Cut(string(name), partSeparator)
	if !found {
		return name, 1, false
	}
	of, _, _ := strings.Cut(numbers, partSeparator)
	count, _ = strconv.Atoi(of) // Layout.Part wrote it
	return scoreboard.BoardID(text), count, true
}

// IsPart reports whether a name is that of a partition.
func IsPart(name scoreboard.BoardID) bool { return strings.Contains(string(name), partSeparator) }

// IsDivided reports whether a script, or a command, failed because the board is in partitions.
func IsDivided(err error) bool {
	return err != nil && strings.Contains(err.Error(), "WRONGTYPE")
}
