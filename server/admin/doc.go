// Package admin holds the operations that the API offers to operators: managing
// boards, moderating users, rebuilding, verifying and replaying rankings, and
// archiving the ledger.
//
// An operation changes the store first, then brings this node's caches and the
// rankings up to date, so that the caller reads its own change. Other nodes and
// the rebuilder follow by themselves within a second or two. What an operation
// cannot finish after the store's commit is retried by a background worker: the
// call succeeds, and says that the rest is pending.
package admin
