// Package plan describes a load: a schedule of request times, and the event of
// each request number. Both are pure functions. The package reads no clock and
// starts no goroutine.
//
// The user, the delta and the id of an event depend only on the seed and the
// event's number, so a run keeps one byte per event and recomputes the rest.
package plan
