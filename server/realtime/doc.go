// Package realtime shows boards live: a hub without sockets, and WebSocket and
// server-sent events over it.
//
// Promise. A board is a state, not a log. A subscription is a mark of what it
// was sent last; whoever is behind gets the newest state and skips what lay
// between, so no gap can appear and nothing piles up. A frame is encoded once
// for each board, window and shape and shared by all who show it. The first
// change after a pause goes out at once, further ones at most once a window. A
// frame goes out only when the rows that a subscription shows have changed.
// Within an epoch the versions that a client sees never go back, whichever node
// it comes from.
//
// Assumption. [Changes] answers with the current top of a board, from a healthy
// ranking or marked degraded; [Hub.Notify] is told of applied batches, in order,
// and may miss some: a board with subscribers that heard nothing for a while is
// read again, so that a lost notice is repaired within a second.
//
// Owner. Run owns every goroutine: the loop of windows and timers, the checks,
// the rank look-ups, one writer a core, and one reader for each connection. An
// idle connection has that one goroutine, because Go tells of a socket's bytes
// only to a goroutine that waits for them; it is a fresh one, so that the stack
// and buffers of the HTTP handler are let go, and it waits without a buffer on
// the smallest stack. It has no writer: writers try each socket without waiting
// (see socket), and only what a full socket refuses gets a goroutine until the
// client has read it or is closed. A stalled client thus holds one frame and that
// goroutine beside the kernel's buffer, and cannot hold up anybody. A goroutine
// with a blocking write for each delivery would put thousands before the requests
// of the same process in every window. Timers are places on one wheel.
//
// At 15,000 idle connections, resident memory of a WebSocket is about 7 KB and of
// an SSE stream as much; they differ in framing alone. Streams over HTTP/2 and
// under TLS take more: they cannot be tried, and HTTP/2 needs its handler.
//
// On failure. When the ranking is away, connections stay, the last state is
// marked degraded, and what the reads' fallback says is shown. Run returns when
// its context ends, after all it started has ended; Drain before it says
// goodbye at a pace.
package realtime
