package ranking

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A board in partitions has the keys of a board for each partition, which holds the users
// that hash to it, and a head: the facts of the board and its first rows, merged of the
// partitions'. Partitions are spread over the servers of a cluster, so no script can use
// two of them. The keys that the board would have in one piece say that it is in
// partitions: divide.lua.
//
// Only a rebuild knows the number of partitions from the catalog. Everything else learns it
// from those keys, when a script for a board in one piece fails on them.

// layout is a board in partitions.
type layout struct {
	board scoreboard.BoardID
	count int
}

// partSeparator cannot be part of a board's name.
const partSeparator = "/"

// part names a partition, as if it were a board: "board/8/3" is the fourth of eight.
func (l layout) part(i int) scoreboard.BoardID {
	return l.board + scoreboard.BoardID(partSeparator+strconv.Itoa(l.count)+partSeparator+strconv.Itoa(i))
}

// parts names every partition.
func (l layout) parts() []scoreboard.BoardID {
	list := make([]scoreboard.BoardID, l.count)
	for i := range list {
		list[i] = l.part(i)
	}
	return list
}

// of returns the partition of a user. It must never change: users would be looked for
// where they are not.
func (l layout) of(user scoreboard.UserID) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user)) // a hash never fails
	return int(h.Sum32() % uint32(l.count))
}

// divide returns the users of each partition, and their indices.
func (l layout) divide(users []scoreboard.UserID) (mine [][]scoreboard.UserID, index [][]int) {
	mine, index = make([][]scoreboard.UserID, l.count), make([][]int, l.count)
	for i, user := range users {
		of := l.of(user)
		mine[of], index[of] = append(mine[of], user), append(index[of], i)
	}
	return mine, index
}

// layoutOf is how a rebuild lays out a board; false for a board in one piece.
func layoutOf(b *scoreboard.Board) (layout, bool) {
	return layout{b.ID, b.Partitions}, b.Partitions > 1
}

// partOf returns the board of a partition, and of how many it is one; or of a board in one
// piece.
func partOf(name scoreboard.BoardID) (board scoreboard.BoardID, count int, divided bool) {
	text, numbers, found := strings.Cut(string(name), partSeparator)
	if !found {
		return name, 1, false
	}
	of, _, _ := strings.Cut(numbers, partSeparator)
	count, _ = strconv.Atoi(of) // layout.part wrote it
	return scoreboard.BoardID(text), count, true
}

// isPart reports whether a name is that of a partition.
func isPart(name scoreboard.BoardID) bool { return strings.Contains(string(name), partSeparator) }

// isDivided reports whether a script, or a command, failed because the board is in partitions.
func isDivided(err error) bool {
	return err != nil && strings.Contains(err.Error(), "WRONGTYPE")
}

// layouts learns and remembers how boards are laid out.
type layouts struct {
	*conn
	counts sync.Map // by board: the number of partitions, if several
}

// layout returns the layout of a board that was found to be in partitions.
func (r *layouts) layout(board scoreboard.BoardID) (layout, bool) {
	count, ok := r.counts.Load(board)
	if !ok {
		return layout{}, false
	}
	return layout{board, count.(int)}, true
}

// learn reads how a board is laid out; false for a board in one piece, or that is not
// loaded.
func (r *layouts) learn(ctx context.Context, board scoreboard.BoardID) (layout, bool, error) {
	text, err := r.rdb.Get(ctx, r.keys.live(board)[0]).Result()
	if errors.Is(err, redis.Nil) || isDivided(err) { // here: the facts of a board in one piece
		r.counts.Delete(board)
		return layout{}, false, nil
	}
	if err != nil {
		return layout{}, false, translate(fmt.Errorf("read the layout of board %s: %w", board, err))
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 2 || count > scoreboard.MaxPartitions {
		return layout{}, false, fmt.Errorf("read the layout of board %s: %q is not a number of partitions", board, text)
	}
	r.counts.Store(board, count)
	return layout{board, count}, true, nil
}

var errMoving = errors.New("the layout of a board keeps changing")

// hasMoved reports whether a board is no longer in count partitions: its changes then belong
// elsewhere.
func (r *layouts) hasMoved(ctx context.Context, board scoreboard.BoardID, count int) (bool, error) {
	l, divided, err := r.learn(ctx, board)
	if !divided {
		l.count = 1
	}
	return count == 1 || l.count != count, err // one in one piece is asked about only where it was not
}

// pieces returns the names that hold the users of a board: the board's own, or those of its
// partitions.
func (r *layouts) pieces(ctx context.Context, board scoreboard.BoardID) ([]scoreboard.BoardID, error) {
	l, divided := r.layout(board)
	if !divided {
		var err error
		if l, divided, err = r.learn(ctx, board); err != nil {
			return nil, err
		}
	}
	if divided {
		return l.parts(), nil
	}
	return []scoreboard.BoardID{board}, nil
}
