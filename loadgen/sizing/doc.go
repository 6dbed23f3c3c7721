// Package sizing estimates what an installation needs: nodes by role, PostgreSQL, Redis, Kafka
// and network, from measured coefficients.
//
// A coefficient is a figure of a benchmark, with the command, the commit and the date that it is
// from. Estimate multiplies them; it knows nothing that was not measured, except the rules that
// it names in its notes. Simulate answers how long an increment waits for its transaction.
package sizing
