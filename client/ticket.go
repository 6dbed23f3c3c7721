package client

import (
	"context"
	"net/http"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// JoinTicket lets a browser join the stream of a board: Token goes into the
// query of /v1/realtime/leaderboard, until ExpiresAt.
type JoinTicket = protocol.JoinTicket

// RealtimeToken takes a ticket for the token's user and a board (global when
// empty), for what cannot send a bearer token: a page's WebSocket or
// EventSource. It is good once, and only for that board. Watch needs none.
func (c *Client) RealtimeToken(ctx context.Context, board string) (JoinTicket, error) {
	var ticket JoinTicket
	err := c.do(ctx, call{
		op: "take a join ticket", method: http.MethodGet, path: "/v1/realtime/token", query: boardQuery(board),
	}, &ticket)
	return ticket, err
}
