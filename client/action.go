package client

import (
	"context"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// ActionRequest says what is started: for whom, on which board, and bounds that
// are narrower than those of the board.
type ActionRequest = protocol.ActionRequest

// Action is an action that was started, with the token for its increment.
type Action = protocol.Action

// StartAction starts an action of a user. The increment that ends it carries
// its ActionToken, names the same board and action, and comes neither before
// LeastDuration is over nor after ExpiresAt.
func (c *Client) StartAction(ctx context.Context, r ActionRequest) (Action, error) {
	var action Action
	err := c.do(ctx, call{
		op: "start an action", method: http.MethodPost, path: "/v1/actions",
		body: func(time.Time) any { return r },
	}, &action)
	return action, err
}
