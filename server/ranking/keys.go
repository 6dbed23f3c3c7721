package ranking

import "github.com/scoreboard/scoreboard/server/scoreboard"

// All key names stand here. The keys of a board share a hash tag, so that a
// cluster keeps them together and scripts may touch them all.

// channel carries the notices of all boards.
const channel = "sb:notices"

// freshKey is a hash: for each "shard/partition", up to when its changes are
// applied, in microseconds; and in "of", as "shards/partitions", how many of
// these there are.
const freshKey = "sb:fresh"

// historyKey is a hash: which history of the store the boards are of, and how
// far that had come.
const historyKey = "sb:history"

func liveKeys(b scoreboard.BoardID) []string {
	tag := "sb:{" + string(b) + "}:"
	return []string{tag + "meta", tag + "rank", tag + "users"}
}

func shadowKeys(b scoreboard.BoardID) []string {
	tag := "sb:{" + string(b) + "}:shadow:"
	return []string{tag + "meta", tag + "rank", tag + "users"}
}

func allKeys(b scoreboard.BoardID) []string {
	return append(liveKeys(b), shadowKeys(b)...)
}
