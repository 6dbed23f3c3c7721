// Package codec writes the requests of a load, sends them over keep-alive connections, and
// parses their responses.
//
// Requests are the same bytes that package client would send, which a test
// compares, at a fraction of its cost: the generator shares the machine with the
// server that it measures. Responses are parsed by hand for the same reason.
//
// Conns is a minimal HTTP/1.1 client for one server with keep-alive
// connections.
//
// A generator that shares a machine with the server must be cheap. The transport
// of net/http uses two goroutines per connection and several hand-overs between
// them per request. Here the caller's goroutine writes the request and reads the
// response. Requests must fit into memory; redirects, compression and pipelining
// are not supported.
//
// A Conns may be used by several goroutines, an Exchange by one. The package
// starts no goroutine. Close leaves no connection open once all exchanges have
// ended.
package codec
