package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// The examples use a server that instance starts. A program reads the address, the
// token and the key from its configuration.
func exampleClient() (c *client.Client, stop func()) {
	server, stop := instance.Start()
	server.Set(wire.Entry{UserID: "bob", Score: 40}, wire.Entry{UserID: "alice", Score: 37})
	c, err := client.New(server.URL, client.Options{
		Token:     instance.Token("alice", "score:update"),
		KeyID:     instance.KeyID,
		KeySecret: instance.Secret,
	})
	if err != nil {
		panic(err)
	}
	return c, stop
}

func ExampleClient_Submit() {
	c, stop := exampleClient()
	defer stop()
	defer c.Close()

	// The event id is derived from the match, so the match counts once however often
	// it is submitted.
	win := client.Increment{User: "alice", Delta: 5, EventID: "match-8841"}
	for range 2 {
		receipt, err := c.Submit(context.Background(), win)
		if err != nil {
			fmt.Println(err)
			return
		}
		if receipt.Replayed {
			fmt.Println("counted before:", receipt.NewScore, "points")
			continue // its rank is the current one, not that of the match
		}
		fmt.Println(receipt.NewScore, "points, rank", *receipt.Rank)
	}
	// Output:
	// 42 points, rank 1
	// counted before: 42 points
}

func ExampleClient_SubmitBatch() {
	c, stop := exampleClient()
	defer stop()
	defer c.Close()

	// The token of a game server has the scope score:update.
	results, err := c.SubmitBatch(context.Background(), []client.Increment{
		{User: "alice", Delta: 5, EventID: "match-8841:alice"},
		{User: "bob", Delta: -3, EventID: "match-8841:bob"},
	})
	if err != nil {
		fmt.Println(err) // all outcomes are unknown: send the same increments again
		return
	}
	for _, r := range results {
		if r.Err != nil {
			fmt.Println("rejected:", wire.CodeOf(r.Err))
			continue
		}
		fmt.Println(r.Receipt.UserID, "has", r.Receipt.NewScore)
	}
	// Output:
	// alice has 42
	// rejected: delta_out_of_range
}

func ExampleClient_Receipt() {
	c, stop := exampleClient()
	defer stop()
	defer c.Close()

	ctx := context.Background()
	if _, err := c.Submit(ctx, client.Increment{User: "alice", Delta: 5, EventID: "match-8841"}); err != nil {
		fmt.Println(err)
		return
	}
	// Later, perhaps in another process: was it counted?
	event, err := c.Receipt(ctx, "match-8841")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(event.Status, event.Receipts[0].NewScore)
	_, err = c.Receipt(ctx, "match-9999")
	fmt.Println(wire.CodeOf(err))
	// Output:
	// done 42
	// not_found
}

func ExampleClient_Around() {
	c, stop := exampleClient()
	defer stop()
	defer c.Close()

	me, err := c.Me(context.Background(), client.PlaceQuery{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("rank", me.Rank, "of", me.Total)
	around, err := c.Around(context.Background(), "alice", client.PlaceQuery{Neighbours: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, entry := range around.Neighbours {
		fmt.Println(entry.Rank, entry.UserID, entry.Score)
	}
	// Output:
	// rank 2 of 2
	// 1 bob 40
	// 2 alice 37
}

func ExampleSigner_Headers() {
	// Client signs its requests. A program with another HTTP client signs like this.
	body := []byte(`{"items":[]}`)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		"https://scores.example.com/v1/scores/increments", bytes.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	signer := client.Signer{KeyID: "k1", Secret: "sk_test_0123456789abcdef"}
	signer.Headers(r, body, time.Unix(1795262400, 0))
	fmt.Println(r.Header.Get("X-Scoreboard-Signature"))
	// Output:
	// v1=10b5a99488c6548ac5bead7e25afe3c81eb779e4aa09c614cb305fb8f8b047fd
}

func ExampleError() {
	c, stop := exampleClient()
	defer stop()
	defer c.Close()

	_, err := c.Submit(context.Background(), client.Increment{User: "alice", Delta: 5_000_000, EventID: "match-8842"})
	var rejected *client.Error
	switch {
	case err == nil:
	case wire.CodeOf(err) == wire.CodeDeltaOutOfRange:
		fmt.Println("no such match:", err)
	case errors.As(err, &rejected) && rejected.Temporary():
		fmt.Println("send", rejected.EventID, "again later")
	}
	// Output:
	// no such match: submit an increment: delta is outside the bounds of the board, 1 to 1000000 (delta_out_of_range)
}

func ExampleClient_Top() {
	c, stop := exampleClient()
	defer stop()
	defer c.Close()

	top, err := c.Top(context.Background(), client.TopQuery{Limit: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, entry := range top.Entries {
		fmt.Println(entry.Rank, entry.UserID, entry.Score)
	}
	// Output:
	// 1 bob 40
	// 2 alice 37
}

func ExampleClient_Watch() {
	c, stop := exampleClient()
	defer stop()
	defer c.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for state := range c.Watch(ctx, "global", client.WatchOptions{}) {
		if state.Connection == client.Disconnected {
			continue // state.Err has the reason; the watch reconnects automatically
		}
		fmt.Println(state.Entries[0].UserID, "leads, by", state.Connection)
		break
	}
	// Output:
	// bob leads, by ws
}

func ExampleRenewing() {
	source := client.Renewing(func(ctx context.Context) (string, time.Time, error) {
		// Request a token from the identity provider here.
		return instance.Token("alice", ""), time.Now().Add(15 * time.Minute), nil
	})
	_, err := client.New("https://scores.example.com", client.Options{TokenSource: source})
	fmt.Println(err)
	// Output:
	// <nil>
}
