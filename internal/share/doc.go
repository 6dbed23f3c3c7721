// Package share divides the slots of a bounded pool among those who want them, so that nobody
// takes all: neither one caller, nor one board, nor questions that take long.
//
// Promise: of a pool with several slots, one caller holds all but one at most, and so do the
// questions about one board, and those that take long. A free slot goes to the caller who holds
// fewest, then to the board with fewest, then to a question that is short, then to the caller
// whose last turn is longest ago.
//
// Assumption: callers are named by WithCaller. Those without a name, such as clients without a
// token, are one caller together. Work of the process itself has no caller, and no share.
package share
