// Package clienttest is an in-memory server for tests of programs that use
// client. It keeps the promises a client can see (signatures and their age,
// one count for each event id, ranks with ties to whoever came first, versions
// that rise, streams with a snapshot first) for increment boards, and can be
// told to fail. It proves nothing about the real server.
package clienttest
