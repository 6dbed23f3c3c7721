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
// Every increment has an event id. The server counts an event id of a user once,
// however often it is sent, and answers a repeat with the first receipt, marked
// Replayed. Submit generates an id if the increment has none and uses it for all
// tries, so a timeout never loses a point and a retry never adds one. If Submit
// fails, the increment may or may not have been recorded. [Error.EventID] is the id
// with which it can safely be sent again, now or tomorrow:
//
//	var failed *client.Error
//	if errors.As(err, &failed) && failed.Temporary() {
//		later = append(later, client.Increment{User: "alice", Delta: 5, EventID: failed.EventID})
//	}
//
// If an increment belongs to something that already has an id (a match, a purchase),
// use that as the event id: 1 to 128 of A-Z a-z 0-9 . _ : @ -.
//
// # Signing
//
// With a key in [Options] every write is signed: Submit with the field scheme (an
// HMAC over user, delta, event id and timestamp in the body), all others with the
// header scheme (an HMAC over method, path, time and body). Each try has a new
// timestamp and signature, because the server rejects signatures older than 60
// seconds.
//
// # Errors
//
// Every error of a call is an [*Error]: an error response with its code, or a failed
// connection with the code unavailable. Branch on the code:
//
//	switch scoreboard.CodeOf(err) {
//	case scoreboard.CodeEventConflict: // the id was used for another increment
//	case scoreboard.CodeRateLimited:   // retry after Error.RetryAfter
//	}
//
// The client retries 429, 5xx and failed connections, up to [Options.Attempts] tries
// with exponential backoff and full jitter, and honours Retry-After. Every wait ends
// with the context.
//
// # Tracing
//
// [Options.Traceparent] puts calls into your traces, without a tracing SDK in this
// package. With OpenTelemetry:
//
//	Traceparent: func(ctx context.Context) string {
//		carrier := propagation.MapCarrier{}
//		propagation.TraceContext{}.Inject(ctx, carrier)
//		return carrier.Get("traceparent")
//	},
//
// # Watching
//
// [Client.Watch] sends the latest state of a board on a channel until its context
// ends, over a WebSocket, else server-sent events, else polling. It reconnects by
// itself, and each [State] has its freshness and its connection. A slow reader skips
// states and never blocks the stream. A web page joins the stream with a ticket from
// [Client.RealtimeToken].
//
// A Client is safe for concurrent use and has no global state. Only Watch starts
// goroutines; they end with its context or with Close, which waits for them and
// closes idle connections.
package client
