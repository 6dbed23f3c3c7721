// Package loadgen plays signed increments against a server at a fixed rate and
// says what happened.
//
// It is an open model: an increment is due when the plan says so, whether or
// not the server has answered the ones before, and its latency runs from that
// moment. A stalled server therefore shows in every increment that was due
// meanwhile, not in the one that met it. Nor does it flatter itself: what could
// not be sent in time is reported as behind, and a run without samples has
// failed.
//
// The parts: a [Plan] says when what is due, targets make the signed requests
// exactly as package client signs them, a recorder counts, and a [Report]
// judges. vegeta paces and sends.
package loadgen
