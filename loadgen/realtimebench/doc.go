// Command realtimebench measures the realtime gateway on one machine:
//
//	realtimebench idle    memory and CPU of idle connections (WebSocket, then SSE)
//	realtimebench hot     commit to frame read, with every score changing all the time
//	realtimebench stalled the good readers' times with and without stalled ones beside
//	realtimebench storm   all clients of a node come back to another at once
//	realtimebench most    the most subscribers whose p99 stays within a second
//	realtimebench all     each of them, with the numbers of the targets
//
// The server is a process of its own (the same program: `serve`), with the real
// hub over a synthetic ranking, so that nothing else is measured; with -url,
// -token and -pid it is any server, whose board somebody must keep busy. The
// clients are a process of their own too (`clients`), from several addresses of
// 127.0.0.0/8, because each address has some 28,000 ports. Each process needs a
// file a connection: `ulimit -n`.
//
// Latency is from each change's commit to the time that a client has read the
// first frame with it, by the one clock of the machine: it holds the wait for
// the window, also of changes that were superseded within one. A frame tells the
// commit of its newest change (ts); those between two frames lie between.
// Memory is the difference of the server's resident set, natural: no collection
// is forced. Every figure goes to stdout as one JSON object a scenario.
package main
