// Package piece is what boards in one piece and the partitions of others have in common: a
// piece of a board is a sorted set with the states of its users and a few facts. It names the
// keys, encodes the members, says how fresh a piece is, and runs the scripts that read, repair
// and replace one. Errors are as in package ranking.
package piece
