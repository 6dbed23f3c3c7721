// Package bulk submits a stream of increments of any length in flat memory:
// several requests in flight, the lines of one user in their order, and the
// outcome of each line in a result file. A request takes as many lines as are
// waiting, up to 200; where the token may not send batches (it has no
// score:update), lines go one by one.
//
// The result file makes a run resumable, by Run with the same file: what it
// says is counted is skipped, and what was refused or not sent is tried again.
// A line without an event id gets one made of the run (whose id opens the
// file) and the line's number, so that a line that was in flight when the
// process died is counted once all the same. So lines that were sent must stay
// what and where they are, which is checked; a refused one may be corrected, and
// new ones added at the end. A run that ends because of its context first
// finishes what is in flight.
//
// A line that the server was too busy for is sent again, and may then come
// after a later line of its user. That matters on boards of the latest score
// alone.
package bulk
