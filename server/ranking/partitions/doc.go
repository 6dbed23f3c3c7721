// Package partitions reads, repairs and rebuilds boards in partitions: a read asks all of them
// at once and puts the answers together, and each change of the first rows merges the top
// (docs/decisions/0055-boards-in-partitions.md). It also knows which boards are in partitions. What
// a partition is called, and which one a user is in, is in ranking/piece (Layout).
package partitions
