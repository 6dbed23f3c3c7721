// Package breaker keeps a backend that hangs from adding its time-out to every
// request that could do without it.
package breaker
