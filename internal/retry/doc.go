// Package retry waits between attempts, runs functions again that fail, and gives up early
// on a backend that does not answer.
//
// A Breaker stops requests from waiting for the timeout of a backend that does
// not answer and that they can do without.
package retry
