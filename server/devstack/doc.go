// Package devstack runs the backends for development without an installation:
// PostgreSQL and Redis as child processes, a Kafka broker inside this process.
//
// Promise: data survives a restart and a kill -9 of this process, after which no
// child remains (on Linux; elsewhere the next start names the leftover process). One
// stack at a time uses a directory. If a backend is not installed, a stand-in
// replaces it, and Parts reports it.
//
// Assumption: the backends listen on 127.0.0.1 only. PostgreSQL and Redis have
// random passwords that only the owner of the directory can read. The Kafka
// stand-in has no password.
//
// Owner: the caller of Start must call Stop. A child that ends is started again after
// RestartDelay, on the same port and data; Died reports one that cannot be.
package devstack
