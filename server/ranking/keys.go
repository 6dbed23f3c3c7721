package ranking

import "github.com/scoreboard/scoreboard/server/scoreboard"

// All key names are in this file or beside their only use. The keys of a board
// share a hash tag, so that a cluster keeps them together and a script can use
// them all.

// channel carries the notices of all boards.
const channel = "sb:notices"

// freshKey is a hash: for each "shard/partition" the time up to which its changes
// are applied, in microseconds; and in "of" their numbers, as "shards/partitions".
const freshKey = "sb:fresh"

// historyKey is a hash: the store's history that the boards were built from, and
// its position then.
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
