package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The server of these examples is a fake; a program takes the address, the
// token and the key from its settings.
func exampleClient() (*client.Client, *clienttest.Server) {
	server := clienttest.Start()
	server.Set(protocol.Entry{UserID: "bob", Score: 40}, protocol.Entry{UserID: "alice", Score: 37})
	c, err := client.New(server.URL, client.Options{
		Token:     clienttest.Token("alice", ""),
		KeyID:     clienttest.KeyID,
		KeySecret: clienttest.Secret,
	})
	if err != nil {
		panic(err)
	}
	return c, server
}

func ExampleClient_Submit() {
	c, server := exampleClient()
	defer server.Close()
	defer c.Close()

	// The match has an id of its own, so it is counted once however often
	// this line runs.
	win := client.Increment{User: "alice", Delta: 5, EventID: "match-8841"}
	for range 2 {
		receipt, err := c.Submit(context.Background(), win)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(receipt.NewScore, "points, rank", *receipt.Rank, "replayed:", receipt.Replayed)
	}
	// Output:
	// 42 points, rank 1 replayed: false
	// 42 points, rank 1 replayed: true
}

func ExampleError() {
	c, server := exampleClient()
	defer server.Close()
	defer c.Close()

	_, err := c.Submit(context.Background(), client.Increment{User: "alice", Delta: 5_000_000, EventID: "match-8842"})
	var refused *client.Error
	switch {
	case err == nil:
	case scoreboard.CodeOf(err) == scoreboard.CodeDeltaOutOfRange:
		fmt.Println("no such match:", err)
	case errors.As(err, &refused) && refused.Temporary():
		fmt.Println("send", refused.EventID, "again later")
	}
	// Output:
	// no such match: submit an increment: delta is outside the bounds of the board (delta_out_of_range)
}

func ExampleClient_Top() {
	c, server := exampleClient()
	defer server.Close()
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
	c, server := exampleClient()
	defer server.Close()
	defer c.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for state := range c.Watch(ctx, "global", client.WatchOptions{}) {
		if state.Connection == client.Disconnected {
			continue // state.Err says why; the watch reconnects by itself
		}
		fmt.Println(state.Entries[0].UserID, "leads, by", state.Connection)
		break
	}
	// Output:
	// bob leads, by ws
}

func ExampleRenewing() {
	source := client.Renewing(func(ctx context.Context) (string, time.Time, error) {
		// Ask the identity provider here.
		return clienttest.Token("alice", ""), time.Now().Add(15 * time.Minute), nil
	})
	_, err := client.New("https://scores.example.com", client.Options{TokenSource: source})
	fmt.Println(err)
	// Output:
	// <nil>
}
