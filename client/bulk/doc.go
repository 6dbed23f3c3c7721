// Package bulk submits a stream of increments of any length in constant memory. It
// keeps several requests in flight, sends the lines of one user in order, and writes
// the outcome of each line to a result file. A request contains the lines that are
// waiting, up to 200. If the token may not send batches (it lacks score:update),
// lines are sent one by one.
//
// With the same result file, Run resumes an earlier run: it skips counted lines and
// retries rejected and unsent ones. A line without an event id gets one derived from
// the run's id (the first line of the file) and the line number, so that a line in
// flight when the process died still counts once. Therefore lines already sent must
// not change or move, which Run checks; rejected lines may be corrected, and new lines
// appended. A run whose context ends first finishes the requests in flight.
//
// A line that the server was too busy to accept is sent again, possibly after a later
// line of the same user. This matters only on boards of the latest score.
package bulk
