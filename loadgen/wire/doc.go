// Package wire speaks HTTP/1.1 to one server over connections that it keeps.
//
// A generator that shares its machine with what it measures must cost little.
// net/http's transport gives each connection two goroutines and each request
// several hand-overs between them; here the caller's goroutine writes a request
// in one piece and reads the answer itself. It knows what a load needs: a
// request that fits into memory, no redirects, no compression, no pipelining.
//
// Exchange is for one goroutine; Conns is for many. Nothing here starts a
// goroutine, and Close leaves no connection behind once all exchanges ended.
package wire
