// Package client is the Go SDK of scoreboard: it submits signed score
// increments, reads leaderboards and follows one live.
//
//	c, err := client.New("https://scores.example.com", client.Options{
//		Token:     os.Getenv("SBCTL_TOKEN"),
//		KeyID:     os.Getenv("SBCTL_KEY_ID"),
//		KeySecret: os.Getenv("SBCTL_KEY_SECRET"),
//	})
//	if err != nil { … }
//	defer c.Close()
//
//	receipt, err := c.Submit(ctx, client.Increment{User: "alice", Delta: 5})
//	fmt.Println(receipt.NewScore, *receipt.Rank)
//
// # Counted once
//
// Every increment has an event id. The server counts an event id of a user
// once, however often it is sent, and answers a repeat with the first receipt,
// marked Replayed. Submit makes an id when the increment has none and keeps it
// over all its tries, so a time-out never costs a point and a retry never adds
// one. When Submit fails all the same, nobody knows whether the increment was
// recorded; [Error.EventID] names the id under which it can be sent again
// safely, now or tomorrow:
//
//	var refused *client.Error
//	if errors.As(err, &refused) && refused.Temporary() {
//		later = append(later, client.Increment{User: "alice", Delta: 5, EventID: refused.EventID})
//	}
//
// If an increment belongs to something that has an id of its own (a match, a
// purchase), use that as the event id: 1 to 128 of A-Z a-z 0-9 . _ : @ -.
//
// # Signing
//
// With a key in [Options] every write is signed: Submit by the field scheme
// (an HMAC over user, delta, event id and timestamp in the body), all others
// by the header scheme (an HMAC over method, path, time and body). Timestamp
// and signature are made anew for each try, because the server refuses what is
// more than 60 seconds old.
//
// # Errors
//
// Every error of a call is an [*Error]: what the server refused with its code,
// or what broke on the way with the code unavailable. Branch on the code:
//
//	switch scoreboard.CodeOf(err) {
//	case scoreboard.CodeEventConflict: // the id was used for another increment
//	case scoreboard.CodeRateLimited:   // Error.RetryAfter says when
//	}
//
// Answers 429, 5xx and broken connections are tried again, up to
// [Options.Attempts] times with exponential backoff and full jitter; a
// Retry-After is honoured. Every wait ends when the context does.
//
// # Watching
//
// [Client.Watch] gives the newest state of a board on a channel until its
// context ends, over a WebSocket, else server-sent events, else polling. It
// reconnects by itself, and each [State] says how fresh it is and by what
// connection it came. A slow reader skips states; it never holds up the stream.
// A page that is to watch by itself joins with a ticket of [Client.RealtimeToken].
//
// A Client is safe for concurrent use, keeps no global state, and has no
// goroutine of its own: those of Watch end with its context or with Close, which
// waits for them and lets the idle connections go.
package client
