package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

type (
	// Board is a board, a family of boards, or an instance of one.
	Board = protocol.Board
	// Boards is a page of them.
	Boards = protocol.Boards
	// BoardRequest describes a board that is to be made.
	BoardRequest = protocol.BoardRequest
	// BoardChange says what of a board is to be changed.
	BoardChange = protocol.BoardChange
)

// BoardQuery says which boards to list: all fields that are set must fit.
type BoardQuery struct {
	Family, Period, Region, Status string
	After                          string // in the order of names; NextAfter of the page before
	Limit                          int    // 100 when 0
}

// CreateBoard makes a board. It needs the scope score:admin.
func (c *Client) CreateBoard(ctx context.Context, r BoardRequest) (Board, error) {
	var b Board
	err := c.do(ctx, call{
		op: "create board " + r.Board, method: http.MethodPost, path: "/v1/boards", sign: true, once: true,
		body: func(time.Time) any { return r },
	}, &b)
	return b, err
}

// FreezeBoard refuses writes to a board; reads stay.
func (c *Client) FreezeBoard(ctx context.Context, board string) (Board, error) {
	return c.changeBoard(ctx, board, "freeze")
}

// UnfreezeBoard takes writes again.
func (c *Client) UnfreezeBoard(ctx context.Context, board string) (Board, error) {
	return c.changeBoard(ctx, board, "unfreeze")
}

// ArchiveBoard ends a board for good: it stays readable, from the store.
func (c *Client) ArchiveBoard(ctx context.Context, board string) (Board, error) {
	return c.changeBoard(ctx, board, "archive")
}

// SetBoard changes what increments of a board must come with.
func (c *Client) SetBoard(ctx context.Context, board string, r BoardChange) (Board, error) {
	var b Board
	err := c.do(ctx, call{
		op: "change board " + board, method: http.MethodPatch, path: "/v1/boards/" + url.PathEscape(board), sign: true,
		body: func(time.Time) any { return r },
	}, &b)
	return b, err
}

func (c *Client) changeBoard(ctx context.Context, board, verb string) (Board, error) {
	var b Board
	err := c.do(ctx, call{
		op: verb + " board " + board, method: http.MethodPost, path: "/v1/boards/" + url.PathEscape(board) + "/" + verb, sign: true,
	}, &b)
	return b, err
}

// Boards lists boards by name.
func (c *Client) Boards(ctx context.Context, q BoardQuery) (Boards, error) {
	v := url.Values{}
	for name, text := range map[string]string{"family": q.Family, "period": q.Period, "region": q.Region, "status": q.Status, "after": q.After} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	var b Boards
	err := c.do(ctx, call{op: "list the boards", method: http.MethodGet, path: "/v1/boards", query: v}, &b)
	return b, err
}

// Board describes one board.
func (c *Client) Board(ctx context.Context, board string) (Board, error) {
	var b Board
	err := c.do(ctx, call{op: "read board " + board, method: http.MethodGet, path: "/v1/boards/" + url.PathEscape(board)}, &b)
	return b, err
}

type (
	// RollRequest asks for what is due, or for a season.
	RollRequest = protocol.RollRequest
	// Rolled says which periods were begun and ended.
	Rolled = protocol.Rolled
	// FinalStandings are a page of the standings of a period that is over.
	FinalStandings = protocol.FinalStandings
)

// RollBoards ends and begins the periods that are due, of a board or, where
// none is named, of all. It is tried once: a season is begun once.
func (c *Client) RollBoards(ctx context.Context, board string, r RollRequest) (Rolled, error) {
	path := "/v1/boards/roll"
	if board != "" {
		path = "/v1/boards/" + url.PathEscape(board) + "/roll"
	}
	var out Rolled
	err := c.do(ctx, call{
		op: "roll over", method: http.MethodPost, path: path, sign: true, once: true, body: func(time.Time) any { return r },
	}, &out)
	return out, err
}

// FinalStandings reads those behind a rank.
func (c *Client) FinalStandings(ctx context.Context, board string, after int64) (FinalStandings, error) {
	var f FinalStandings
	err := c.do(ctx, call{
		op: "read the final standings of board " + board, method: http.MethodGet, path: "/v1/boards/" + url.PathEscape(board) + "/standings",
		query: url.Values{"after": {strconv.FormatInt(after, 10)}},
	}, &f)
	return f, err
}
