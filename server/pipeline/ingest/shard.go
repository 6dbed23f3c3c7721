package ingest

import (
	"encoding/binary"
	"math/bits"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// laneOf returns the number of a user's lane, of so many. Lanes divide the range of PostgreSQL's hash of
// a text as the shards of a table that Citus distributes by user: with as many lanes as shards, or a
// multiple of them, the users of a batch are in one shard (docs/decisions/0060).
func laneOf(user scoreboard.UserID, lanes int) int {
	position := hashText(string(user)) ^ 1<<31 // shards begin at the smallest signed number
	return min(int(uint64(position)/(1<<32/uint64(lanes))), lanes-1)
}

// hashText is PostgreSQL's hashtext of a text under a deterministic collation, as an unsigned number: the
// function lookup3 of Bob Jenkins (public domain) with PostgreSQL's start value, as in hash_bytes of
// src/common/hashfn.c.
func hashText(text string) uint32 {
	a := 0x9e3779b9 + uint32(len(text)) + 3923095
	b, c := a, a
	key := []byte(text)
	for ; len(key) >= 12; key = key[12:] {
		a += binary.LittleEndian.Uint32(key)
		b += binary.LittleEndian.Uint32(key[4:])
		c += binary.LittleEndian.Uint32(key[8:])
		a, b, c = mix(a, b, c)
	}
	var rest [12]byte
	copy(rest[:], key)
	a += binary.LittleEndian.Uint32(rest[:])
	b += binary.LittleEndian.Uint32(rest[4:])
	c += binary.LittleEndian.Uint32(rest[8:]) << 8 // its lowest byte is that of the length
	return finish(a, b, c)
}

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	a, c = (a-c)^bits.RotateLeft32(c, 4), c+b
	b, a = (b-a)^bits.RotateLeft32(a, 6), a+c
	c, b = (c-b)^bits.RotateLeft32(b, 8), b+a
	a, c = (a-c)^bits.RotateLeft32(c, 16), c+b
	b, a = (b-a)^bits.RotateLeft32(a, 19), a+c
	c, b = (c-b)^bits.RotateLeft32(b, 4), b+a
	return a, b, c
}

func finish(a, b, c uint32) uint32 {
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
