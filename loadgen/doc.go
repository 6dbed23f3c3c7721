// Package loadgen sends signed increments to a server on a schedule, reports what
// happened, and checks the server against criteria.
//
// The model is open: a request is sent at its scheduled time whether or not the
// server has answered earlier ones, and latency is measured from that time. A
// stalled server shows in every request that was scheduled meanwhile. Requests
// that could not be sent in time count as behind, and a run without samples fails.
//
// [Run] plays a plan; [FindMax] runs repeatedly to find the highest rate that a
// server sustains. The sub-packages:
//
//   - plan: the schedule, and the event of each number
//   - codec: writes requests and parses responses; wire: their connections
//   - outcome: the outcome of each event, and the resulting scores
//   - freshness: the time from commit until visible in Redis and to clients
//   - verify: compares the server with the outcomes after the load
//   - record and report: the raw results and the reports made from them
//   - criteria: limits, and the scenarios made of them
package loadgen
