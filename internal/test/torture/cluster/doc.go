// Package cluster runs an installation for the torture test: PostgreSQL, Redis
// and Apache Kafka as child processes, each behind fault proxies, and several
// scoreboardd processes in any split of roles.
//
// Each node has its own proxies to PostgreSQL and Redis, so that one node can
// lose a backend that the others reach. Brokers advertise one address each, so
// their proxies are shared.
//
// A Proxy refuses, resets, delays or stalls connections, drops answers, and cuts
// PostgreSQL connections at a chosen message. It forwards bytes only and copies
// nothing it does not need to, so one without faults costs a few microseconds per
// message. Faults apply to connections that are open and to those that are opened
// while they last.
//
// Processes can run with a wrong clock: the clock of one node is stepped and slewed
// without touching that of the machine. C programs load libfaketime. Go programs make no
// calls that it could intercept, so they are built with an overlay of package time, whose
// Now adds what a file says. Monotonic clocks, and so timeouts, stay right, as they do
// when a real clock is set.
package cluster
