package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

type (
	// BoardRule says which increments that name no board also count on a board.
	BoardRule = wire.BoardRule
	// BoardRules are the boards that have a rule.
	BoardRules = wire.BoardRules
	// BoardRuleRequest describes a rule; all parts that are given must match.
	BoardRuleRequest = wire.BoardRuleRequest
)

// BoardRules lists the boards that have a rule, by name. It needs the scope score:operate.
func (c *Client) BoardRules(ctx context.Context) (BoardRules, error) {
	var r BoardRules
	err := c.do(ctx, call{op: "list the rules of boards", method: http.MethodGet, path: "/v1/admin/board-rules"}, &r)
	return r, err
}

// SetBoardRule sets the rule of a board. It needs the scope score:admin.
func (c *Client) SetBoardRule(ctx context.Context, board string, r BoardRuleRequest) (BoardRule, error) {
	var rule BoardRule
	err := c.do(ctx, call{
		op: "set the rule of board " + board, method: http.MethodPut,
		path: "/v1/admin/board-rules/" + url.PathEscape(board), query: because(ctx), sign: true,
		body: func(time.Time) any { return r },
	}, &rule)
	return rule, err
}

// ClearBoardRule removes the rule of a board, if it has one. It needs the scope score:admin.
func (c *Client) ClearBoardRule(ctx context.Context, board string) (Board, error) {
	var b Board
	err := c.do(ctx, call{
		op: "clear the rule of board " + board, method: http.MethodDelete,
		path: "/v1/admin/board-rules/" + url.PathEscape(board), query: because(ctx), sign: true,
	}, &b)
	return b, err
}
