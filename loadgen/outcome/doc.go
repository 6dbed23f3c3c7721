// Package outcome tracks the outcome of each event of a run, in one byte per event,
// and the scores that users must have as a result.
package outcome
