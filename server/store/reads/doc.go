// Package reads answers reads from PostgreSQL: those that the ranking in Redis usually
// answers, in exactly the same order, and users' statements, which are only here. Ranks are
// counted in the table standings, a copy of the scores with an index in ranking order.
// Standings updates it from the outbox after the commit.
//
// Promise: standings has everything that was committed before its as_of. A standing is a
// committed state of a score, and is never replaced by an older one.
//
// Assumption: every change of a score has a row in the outbox with a higher revision, and
// no row appears below the oldest running transaction.
//
// On failure: standings stay behind. After a pass that was interrupted, the next one
// starts from the same cursors. Two passes at once do no harm: the one that ends second
// changes nothing.
package reads
