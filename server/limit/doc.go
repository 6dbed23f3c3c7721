// Package limit says how often a user or an address may do a thing: token
// buckets that all nodes share through Redis.
//
// Promise: with Redis there, a key is admitted at most rate·t + burst times in
// any time t, plus one slice for each node. Slices (100 ms worth of tokens, 1
// below 1,200 a minute) are taken ahead and handed out here, so that a fast key
// costs a round trip in each slice, not in each request. A key that is refused
// costs none until its wait is over.
//
// Assumption: the clock is that of Redis, so nodes need not agree on theirs;
// where it jumps back, a key waits for one token at most.
//
// On failure: with Redis away or slower than 50 ms each node goes on by itself
// from what it knew, and one node still admits at most rate·t + burst, plus a
// slice. What a node knows is bounded: past about 32,000 keys a limit forgets
// those that were not used for longest, and what they had left of a slice.
package limit
