// Package clienttest is an in-memory server for tests of programs that use package
// client. It has one increment board and behaves like the real server as far as
// clients can see: signatures and their age, each event id counted once, ties ranked
// by who reached the score first, increasing versions, and streams that begin with a
// snapshot. It can simulate failures. It proves nothing about the real server.
package clienttest
