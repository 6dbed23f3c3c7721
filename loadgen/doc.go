// Package loadgen plays signed increments against a server, says what happened,
// and holds the server to criteria.
//
// It is an open model: an increment is due when the plan says so, whether or
// not the server has answered the ones before, and its latency runs from that
// moment. A stalled server therefore shows in every increment that was due
// meanwhile, not in the one that met it. Nor does it flatter itself: what could
// not be sent in time is reported as behind, and a run without samples has
// failed.
//
// What is played is a function of the seed and the number of an event: who, how
// much, under which id. So nothing needs to be kept of an event but what became
// of it, a byte, and after the run the book is closed against the server: each
// acknowledged event once, no refused one, sums and ranks as recounted.
//
// The parts: a [Plan] says what is played, package pace when; a composer writes
// the requests exactly as package client signs them, and package wire carries
// them; the book keeps outcomes; the pulse measures freshness from outside;
// faults break things in the middle; packages record and report keep and judge.
// vegeta paces and sends. [FindMax] plays again and again.
package loadgen
