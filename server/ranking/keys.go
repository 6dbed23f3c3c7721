package ranking

import "github.com/scoreboard/scoreboard/server/scoreboard"

// All key names are in this file or beside their only use. The keys of a board
// share a hash tag, so that a cluster keeps them together and a script can use
// them all.

// channel carries the notices of all boards.
const channel = "sb:notices"

// freshKey is a hash: for each "shard/partition" the time up to which its changes
// are applied, in microseconds; in "of" their numbers, as "shards/partitions"; in
// "server" the server that these times are true of; in "former" the time up to which
// everything was applied on the server before it, and that server; in "adopted" when
// the store's history was adopted: boards built before it are not readable.
const freshKey = "sb:fresh"

// historyKey is a hash: the store's history that the boards were built from, its
// position then, and when it was adopted.
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
