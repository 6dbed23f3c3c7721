// Package wire is a minimal HTTP/1.1 client for one server with keep-alive
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
package wire
