// Package socket carries a realtime connection over a socket taken from
// net/http, for WebSockets and for event streams over HTTP/1.1.
//
// Promise. Writing never blocks: what the kernel does not accept at once is
// written by a goroutine that ends when nothing is left. A stalled client thus
// holds one frame and one goroutine, and cannot delay others.
//
// Owner. Each connection has one reading goroutine, because Go reports readable
// bytes only to a goroutine that waits for them. It is a fresh goroutine, so that
// the stack and the buffers of the HTTP handler are freed, and it waits without
// a buffer on the smallest stack.
//
// Sockets under TLS and on Windows cannot be written without blocking; there each
// write has a goroutine while it lasts.
package socket
