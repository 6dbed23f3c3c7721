// Package instance runs a real server for tests of programs that use package
// client: a node in this process, on a PostgreSQL database and a Redis of its own,
// behind a proxy.
//
//	s := instance.New(t)
//	s.Set(client.Entry{UserID: "alice", Score: 5}) // through the API, until the ranking shows it
//	s.LoseAnswers(1)                               // the next request takes effect, its response is lost
//
// The proxy simulates what a healthy server does not do when asked: it rejects
// requests, loses responses, breaks streams, and adds frames to them. It knows
// nothing about leaderboards: all other responses are the node's.
package instance
