// Package realtime streams boards: a hub without sockets, whose connections
// realtime/ws and realtime/sse serve.
//
// Promise. A board is a state and not a log. A subscription records the last state
// it was sent; a connection that is behind gets the newest state and skips those
// between, so there are no gaps and no backlog. A message is encoded once for each
// board, window, number of rows and [Format], and shared. The first change after a pause is
// sent at once, later ones at most once a window, and only if the rows of the
// subscription changed. Within an epoch, versions never go back for a client,
// whichever node it connects to; within a connection, epochs never do, either.
//
// Assumption. [Source] returns the current head of a board, from a healthy ranking
// or marked degraded. [Hub.Notify] gets the notices of applied batches, in order,
// and may miss some: a board with subscribers and without notices is read again
// within a second.
//
// Owner. Run owns every goroutine: the loop of windows and timers, the checks, the
// rank look-ups, one writer per core, and one reader per connection over a socket
// of its own. Writers never block, because a blocking write in a goroutine per
// delivery would queue thousands of them before the requests of this process in
// every window. Timers are entries of one wheel.
//
// At 15,000 idle connections a WebSocket takes about 7 KB of resident memory, and an
// event stream as much. Streams over HTTP/2 and under TLS take more: they need the
// HTTP handler or a blocking write.
//
// On failure. While the ranking is unavailable, connections stay open, the last
// state is marked degraded, and the reads' fallback is published. Run returns when
// its context has ended and all it started has ended; Drain before it closes
// connections gradually.
package realtime
