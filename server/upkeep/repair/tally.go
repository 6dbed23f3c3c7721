package repair

import (
	"hash/maphash"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tally is a set of users in constant memory: for each share of them, by hash, how many
// they are and the sum of their hashes. Two shares with other users are equal only by a
// coincidence of 64 bits, which nobody can arrange: the seed is random.
type tally struct {
	seed   maphash.Seed
	shares [tallyShares]struct {
		count int64
		sum   uint64
	}
}

// tallyShares is also how many users are looked up for one that differs: one in so many.
const tallyShares = 4096

func (t *tally) add(user scoreboard.UserID) {
	hash := maphash.String(t.seed, string(user))
	share := &t.shares[hash%tallyShares]
	share.count++
	share.sum += hash
}

// differs reports whether the share that holds a user differs in another tally with the
// same seed.
func (t *tally) differs(other *tally, user scoreboard.UserID) bool {
	i := maphash.String(t.seed, string(user)) % tallyShares
	return t.shares[i] != other.shares[i]
}
