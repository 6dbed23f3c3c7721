// Package freshness measures how long a committed increment takes to become
// visible in Redis and on clients, from outside the server.
//
// A Monitor moves a few users to the top of the default board, keeps increasing
// their scores, and matches the receipts with what a poller and watchers see. Its
// goroutines end before Run returns.
package freshness
