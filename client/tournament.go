package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Tournaments, as the server sends them.
type (
	// Participation says who has joined a period of a board that requires it.
	Participation = wire.Participation
	// Player is a user who has joined a period.
	Player = wire.Player
	// Players is a page of them, by user.
	Players = wire.Players
)

func (c *Client) participation(ctx context.Context, op, method, board, user string) (Participation, error) {
	query := url.Values{}
	setText(query, "user_id", user)
	var p Participation
	err := c.do(ctx, call{
		op: op + " board " + board, method: method, path: "/v1/boards/" + url.PathEscape(board) + "/join", query: query,
	}, &p)
	return p, err
}

// JoinBoard has a user ("": the token's) join a period of a board, or of a board the next one that can be joined. A
// repeat changes nothing. Another user needs the scope score:update. The codes tournament_full and join_closed say
// that nobody can join it.
func (c *Client) JoinBoard(ctx context.Context, board, user string) (Participation, error) {
	return c.participation(ctx, "join", http.MethodPost, board, user)
}

// LeaveBoard has a user ("": the token's) leave a period that has not begun, or of a board the next one.
func (c *Client) LeaveBoard(ctx context.Context, board, user string) (Participation, error) {
	return c.participation(ctx, "leave", http.MethodDelete, board, user)
}

// Participation returns how many users have joined a period, and whether a user ("": the token's) has.
func (c *Client) Participation(ctx context.Context, board, user string) (Participation, error) {
	return c.participation(ctx, "read who has joined", http.MethodGet, board, user)
}

func playersPath(board string) string {
	return "/v1/admin/boards/" + url.PathEscape(board) + "/players"
}

// Players lists the users who have joined a period after a user ("" for the first), at most limit (0: 100). It needs
// the scope score:operate.
func (c *Client) Players(ctx context.Context, board, after string, limit int) (Players, error) {
	query := url.Values{}
	setText(query, "after", after)
	setInt(query, "limit", int64(limit))
	var page Players
	err := c.do(ctx, call{
		op: "list the players of " + board, method: http.MethodGet, path: playersPath(board), query: query,
	}, &page)
	return page, err
}

// AddPlayer adds a user to a period that has not ended, whether it has begun or not. It needs the scope score:operate.
func (c *Client) AddPlayer(ctx context.Context, board, user string) (Participation, error) {
	return c.changePlayer(ctx, "add "+user+" to "+board, http.MethodPut, board, user)
}

// RemovePlayer removes a user from a period, whether it has begun or not. It needs the scope score:operate.
func (c *Client) RemovePlayer(ctx context.Context, board, user string) (Participation, error) {
	return c.changePlayer(ctx, "remove "+user+" from "+board, http.MethodDelete, board, user)
}

func (c *Client) changePlayer(ctx context.Context, op, method, board, user string) (Participation, error) {
	var p Participation
	err := c.do(ctx, call{
		op: op, method: method, path: playersPath(board) + "/" + url.PathEscape(user), query: because(ctx), sign: true,
	}, &p)
	return p, err
}
