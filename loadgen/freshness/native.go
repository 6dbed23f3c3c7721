package freshness

import (
	"context"
	"errors"

	"github.com/scoreboard/scoreboard/client"
)

// Native is the native API of a server.
type Native struct {
	Client   *client.Client
	Board    string           // "" is the default board
	Watchers []*client.Client // each with a user of its own
}

var _ API = (*Native)(nil)

// Step implements API.
func (n *Native) Step(ctx context.Context, user string) (Step, error) {
	r, err := n.Client.Submit(ctx, client.Increment{User: user, Delta: StepDelta, Board: n.Board})
	return Step{Before: r.NewScore - r.Applied, After: r.NewScore, At: r.RecordedAt}, err
}

// Top implements API.
func (n *Native) Top(ctx context.Context) ([]client.Entry, error) {
	top, err := n.Client.Top(ctx, client.TopQuery{Board: n.Board, Limit: 100})
	if err == nil && top.Degraded {
		err = errors.New(top.DegradedReason)
	}
	return top.Entries, err
}

// Watch implements API. Every second watcher follows an event stream.
func (n *Native) Watch(ctx context.Context, i int, seen func([]client.Entry)) (reconnects int) {
	o := client.WatchOptions{Limit: 100, EventStream: i%2 == 1}
	for state := range n.Watchers[i].Watch(ctx, n.Board, o) {
		reconnects = state.Reconnects
		if state.Connection == client.WebSocket || state.Connection == client.SSE {
			seen(state.Entries)
		}
	}
	return reconnects
}
