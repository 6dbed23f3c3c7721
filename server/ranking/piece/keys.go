package piece

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// All key names are in this file or beside their only use.
//
// Boards are spread over buckets. A bucket has a record of how fresh its boards are,
// which a reader gets from the same server and at the same moment as a board. On a
// single server all boards are in one bucket, and a board's name is the hash tag of its
// keys. In a cluster the hash tag is the bucket's, so that the bucket is in one slot,
// and the buckets are spread evenly over the slots.

// Channel carries the notices of all boards.
const Channel = "sb:notices"

// FreshKey is a hash: for each "shard/partition" the time up to which its changes
// are applied, in microseconds; in "of" their numbers, as "shards/partitions"; in
// "server" the server that these times are true of; in "former" the time up to which
// everything was applied on the server before it, and that server; in "adopted" when
// the store's history was adopted: boards built before it are not readable; in "doubted" the time
// of the server before which no board may have been claimed for its rebuild.
//
// It is the record of the only bucket. In a cluster the record of a bucket has a single
// time instead, as of one shard with one partition: the earliest in this hash.
const FreshKey = "sb:fresh"

// HistoryKey is a hash: the store's history that the boards were built from, its
// position then, and when it was adopted.
const HistoryKey = "sb:history"

// Tags are the hash tags of the buckets of a cluster: the smallest number that is in
// the first, second, … 64th part of the slots. They are part of the names of keys.
var Tags = [...]int{
	10, 18, 113, 342, 29, 21, 3, 122, 69, 61, 72, 162, 50, 58, 153, 43,
	11, 19, 112, 343, 28, 20, 2, 123, 68, 60, 73, 163, 51, 59, 152, 42,
	12, 102, 111, 119, 133, 23, 1, 9, 173, 63, 70, 78, 52, 142, 49, 41,
	13, 103, 110, 118, 132, 22, 0, 8, 172, 62, 71, 79, 53, 143, 48, 40,
}

// Keyspace names the keys, in a cluster or on a single server.
type Keyspace struct{ Clustered bool }

// Buckets is the number of buckets.
func (k Keyspace) Buckets() int {
	if k.Clustered {
		return len(Tags)
	}
	return 1
}

// Total is the index of the record of all shards and partitions: behind the buckets of a
// cluster, else the only one.
func (k Keyspace) Total() int {
	if k.Clustered {
		return len(Tags)
	}
	return 0
}

// All returns every bucket.
func (k Keyspace) All() []int {
	list := make([]int, k.Buckets())
	for i := range list {
		list[i] = i
	}
	return list
}

// Bucket returns the bucket of a board, or of a partition of one: partitions are spread
// evenly over the buckets, and so over the slots, from the bucket of the board on.
func (k Keyspace) Bucket(b scoreboard.BoardID) int {
	if !k.Clustered {
		return 0
	}
	board, numbers, divided := strings.Cut(string(b), partSeparator)
	h := fnv.New32a()
	_, _ = h.Write([]byte(board)) // a hash never fails
	bucket := int(h.Sum32() % uint32(len(Tags)))
	if divided {
		of, index, _ := strings.Cut(numbers, partSeparator)
		count, _ := strconv.Atoi(of) // layout.part wrote both
		i, _ := strconv.Atoi(index)
		bucket = (bucket + i*len(Tags)/count) % len(Tags)
	}
	return bucket
}

// Of returns the buckets of boards and their partitions, each once.
func (k Keyspace) Of(boards []scoreboard.Board) []int {
	seen := make([]bool, k.Buckets())
	var list []int
	add := func(name scoreboard.BoardID) {
		if b := k.Bucket(name); !seen[b] {
			seen[b] = true
			list = append(list, b)
		}
	}
	for i := range boards {
		add(boards[i].ID)
		if l, divided := LayoutOf(&boards[i]); divided {
			for _, name := range l.Parts() {
				add(name)
			}
		}
	}
	return list
}

// Fresh names the record of a bucket.
func (k Keyspace) Fresh(bucket int) string {
	if !k.Clustered {
		return FreshKey
	}
	return tag(bucket) + "fresh"
}

func tag(bucket int) string { return "sb:{" + strconv.Itoa(Tags[bucket]) + "}:" }

// Top names the merged top of a board in partitions. Its name in Redis is older than this word.
func (k Keyspace) Top(b scoreboard.BoardID) string {
	if k.Clustered {
		return tag(k.Bucket(b)) + "head:" + string(b)
	}
	return "sb:{" + string(b) + "}:head"
}

// Layouts names the record of the numbers of partitions that keys of a board may be left of:
// server/ranking/partitions/unused.go.
func (k Keyspace) Layouts(b scoreboard.BoardID) string {
	if k.Clustered {
		return tag(k.Bucket(b)) + "layouts:" + string(b)
	}
	return "sb:{" + string(b) + "}:layouts"
}

// Live names a board's facts, its sorted set, and the states of its users.
func (k Keyspace) Live(b scoreboard.BoardID) []string { return k.keys(b, "") }

// Shadow names the same of the shadow that a rebuild fills.
func (k Keyspace) Shadow(b scoreboard.BoardID) []string { return k.keys(b, "shadow") }

// Both names those of the board, then those of the shadow.
func (k Keyspace) Both(b scoreboard.BoardID) []string { return append(k.Live(b), k.Shadow(b)...) }

func (k Keyspace) keys(b scoreboard.BoardID, shadow string) []string {
	if k.Clustered { // the name comes last, because it may contain any other part
		of := tag(k.Bucket(b)) + shadow
		return []string{of + "meta:" + string(b), of + "rank:" + string(b), of + "users:" + string(b)}
	}
	of := "sb:{" + string(b) + "}:"
	if shadow != "" {
		of += shadow + ":"
	}
	return []string{of + "meta", of + "rank", of + "users"}
}
