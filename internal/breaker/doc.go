// Package breaker stops requests from waiting for the timeout of a backend that does
// not answer and that they can do without.
package breaker
