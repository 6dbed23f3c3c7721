// Package ranking keeps boards in Redis: one sorted set per board, which can be
// discarded and rebuilt from the store, and the notices that tell nodes when a
// board changed.
//
// Promise. A change is applied only if its revision is newer than the stored one,
// so duplicates, reordering and replays do nothing. The version of a board rises
// exactly when membership, order or a score in its top 100 changes, in the script
// that makes the change; the stored top and the sorted set therefore always
// agree. Equal scores rank by the time at which they were reached, then by user id, exactly as
// in PostgreSQL.
//
// A board in partitions is spread over several sorted sets by a hash of the user. Its
// top is merged by the process that applied changes, before Apply returns: the promise
// holds for it as well, except that sorted sets may be ahead of the merged top for that
// moment (docs/decisions/0055-boards-in-partitions.md).
//
// What the two have in common is in package piece. Packages whole and partitions answer and
// repair boards of their kind behind one interface, boards, and this package finds the one
// that a board needs, applies changes, and knows about all boards: heartbeats, history, notices.
//
// Assumption. Redis may lose data. Only a rebuild creates a board, so after a flush
// every call reports that the board is not loaded instead of an empty board. After a
// restart or a failover a board may lack changes that were applied; its as_of then
// stays at what the server before had reported, until it is rebuilt.
//
// On failure. scoreboard.ErrNotLoaded where Redis does not hold the board; other
// errors are the connection's.
package ranking
