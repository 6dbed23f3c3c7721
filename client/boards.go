package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

type (
	// Board is a board, a family of periodic boards, or one period of a family.
	Board = wire.Board
	// Boards is a page of boards.
	Boards = wire.Boards
	// BoardRequest describes a new board.
	BoardRequest = wire.BoardRequest
	// BoardChange lists the changes to a board.
	BoardChange = wire.BoardChange
	// Tier is a named band of a board: exactly one of Rank, Percentile and Score is set.
	Tier = wire.Tier
)

// BoardQuery filters boards; all fields that are set must match.
type BoardQuery struct {
	Family, Period, Region, Status string
	Platform, Tag                  string
	After                          string // NextAfter of the previous page
	Limit                          int    // 100 when 0
}

// CreateBoard creates a board. Like all changes to boards but freezing, it needs the
// scope score:admin.
func (c *Client) CreateBoard(ctx context.Context, r BoardRequest) (Board, error) {
	var b Board
	err := c.do(ctx, call{
		op: "create board " + r.Board, method: http.MethodPost, path: "/v1/boards", query: because(ctx),
		sign: true, once: true,
		body: func(time.Time) any { return r },
	}, &b)
	return b, err
}

// FreezeBoard makes a board reject writes; reads still work.
func (c *Client) FreezeBoard(ctx context.Context, board string) (Board, error) {
	return c.changeBoard(ctx, board, "freeze")
}

// UnfreezeBoard makes a frozen board accept writes again.
func (c *Client) UnfreezeBoard(ctx context.Context, board string) (Board, error) {
	return c.changeBoard(ctx, board, "unfreeze")
}

// ArchiveBoard ends a board permanently; reads are served from PostgreSQL.
func (c *Client) ArchiveBoard(ctx context.Context, board string) (Board, error) {
	return c.changeBoard(ctx, board, "archive")
}

// SetBoard changes a board's labels, and what its increments must carry.
func (c *Client) SetBoard(ctx context.Context, board string, r BoardChange) (Board, error) {
	var b Board
	err := c.do(ctx, call{
		op: "change board " + board, method: http.MethodPatch, path: "/v1/boards/" + url.PathEscape(board),
		query: because(ctx), sign: true,
		body: func(time.Time) any { return r },
	}, &b)
	return b, err
}

func (c *Client) changeBoard(ctx context.Context, board, verb string) (Board, error) {
	var b Board
	err := c.do(ctx, call{
		op: verb + " board " + board, method: http.MethodPost,
		path: "/v1/boards/" + url.PathEscape(board) + "/" + verb, query: because(ctx), sign: true,
	}, &b)
	return b, err
}

// Boards lists boards by name.
func (c *Client) Boards(ctx context.Context, q BoardQuery) (Boards, error) {
	v := url.Values{}
	setText(v, "family", q.Family)
	setText(v, "period", q.Period)
	setText(v, "region", q.Region)
	setText(v, "platform", q.Platform)
	setText(v, "tag", q.Tag)
	setText(v, "status", q.Status)
	setText(v, "after", q.After)
	setInt(v, "limit", int64(q.Limit))
	var b Boards
	err := c.do(ctx, call{op: "list the boards", method: http.MethodGet, path: "/v1/boards", query: v}, &b)
	return b, err
}

// Board reads one board.
func (c *Client) Board(ctx context.Context, board string) (Board, error) {
	var b Board
	err := c.do(ctx,
		call{op: "read board " + board, method: http.MethodGet, path: "/v1/boards/" + url.PathEscape(board)}, &b)
	return b, err
}

type (
	// RollRequest ends and starts the periods that are due, or starts a season.
	RollRequest = wire.RollRequest
	// Rolled lists the periods that ended and started.
	Rolled = wire.Rolled
	// FinalStandings is a page of the standings of a finished period.
	FinalStandings = wire.FinalStandings
)

// RollBoards ends and starts the periods that are due, of one board or, if board
// is empty, of all. It never retries: a second try could start a second season.
func (c *Client) RollBoards(ctx context.Context, board string, r RollRequest) (Rolled, error) {
	path := "/v1/boards/roll"
	if board != "" {
		path = "/v1/boards/" + url.PathEscape(board) + "/roll"
	}
	var out Rolled
	err := c.do(ctx, call{
		op: "roll over", method: http.MethodPost, path: path, query: because(ctx), sign: true, once: true,
		body: func(time.Time) any { return r },
	}, &out)
	return out, err
}

// FinalStandings reads the standings after a rank.
func (c *Client) FinalStandings(ctx context.Context, board string, after int64) (FinalStandings, error) {
	var f FinalStandings
	err := c.do(ctx, call{
		op: "read the final standings of board " + board, method: http.MethodGet,
		path:  "/v1/boards/" + url.PathEscape(board) + "/standings",
		query: url.Values{"after": {strconv.FormatInt(after, 10)}},
	}, &f)
	return f, err
}
