package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// Entry is one row of a board: Rank (from 1), UserID, Score and, where the
// user has them, DisplayName and AvatarURL.
type Entry = protocol.Entry

// Top is the head of a board: Entries best first, the Total of users, AsOf and
// AgeMS for its freshness. Version and Epoch are nil when it is Degraded, that
// is, not from a healthy ranking.
type Top = protocol.Top

// Place is one user's standing: Score, Rank, Total, Percentile (the share of
// users ranked below) and Neighbours where they were asked for.
type Place = protocol.Place

// List is the standings of some users: Entries best first, each with its Place
// among them beside its Rank on the board, and NotFound.
type List = protocol.List

// Profile is how a user wants to be shown: DisplayName (up to 32 characters)
// and AvatarURL (https).
type Profile = protocol.Profile

// TopQuery asks for a page of a board.
type TopQuery struct {
	Board      string // global when empty
	Limit      int    // 1 to 100; 10 when 0
	Cursor     string // NextCursor of the page before
	MinVersion int64  // wait up to a second for this version of the board
}

// Top reads the head of a board, or with a Cursor a page further down. A cursor
// is a standing, not a number: whoever keeps their place is neither skipped nor
// shown twice, whatever else moves.
func (c *Client) Top(ctx context.Context, q TopQuery) (Top, error) {
	query := boardQuery(q.Board)
	setInt(query, "limit", int64(q.Limit))
	setInt(query, "min_version", q.MinVersion)
	if q.Cursor != "" {
		query.Set("cursor", q.Cursor)
	}
	var top Top
	err := c.do(ctx, call{op: "read the top", method: http.MethodGet, path: "/v1/leaderboard/top", query: query}, &top)
	return top, err
}

// PlaceQuery asks for a user's standing.
type PlaceQuery struct {
	Board      string // global when empty
	Neighbours int    // rows above and below the user, 0 for none
	MinVersion int64  // the version of the user's receipt that must be in it
	// Score, where it is given, asks what rank it would have for a user who is
	// not on the board: the error not_found says so in WouldRank.
	Score *int64
}

// Me reads the standing of the token's user.
func (c *Client) Me(ctx context.Context, q PlaceQuery) (Place, error) {
	return c.place(ctx, "read your standing", "/v1/leaderboard/me", q)
}

// Score reads a user's score and rank on a board.
func (c *Client) Score(ctx context.Context, user string, q PlaceQuery) (Place, error) {
	return c.place(ctx, "read the score of "+user, "/v1/users/"+url.PathEscape(user)+"/score", q)
}

// Around reads a user's rank with Neighbours rows above and below.
func (c *Client) Around(ctx context.Context, user string, q PlaceQuery) (Place, error) {
	return c.place(ctx, "read the rank of "+user, "/v1/users/"+url.PathEscape(user)+"/rank", q)
}

// Statement is a page of what the ledger has of a user: Entries newest first,
// NextCursor where there are more, and on the last page ArchivedBefore where
// older events have left for the archive.
type Statement = protocol.Statement

// StatementEntry is one event on one board.
type StatementEntry = protocol.StatementEntry

// StatementQuery asks for a page of a statement.
type StatementQuery struct {
	Board    string    // one board, or all instances of a family; all boards when empty
	From, To time.Time // To is exclusive; zero is without an end
	Cursor   string    // NextCursor of the page before
	Limit    int       // how many entries, up to StatementPage; so many when 0
}

// StatementPage is the most entries of a page.
const StatementPage = 100

// Statement reads what the ledger has of a user: the token's own, or any with
// the scope score:admin.
func (c *Client) Statement(ctx context.Context, user string, q StatementQuery) (Statement, error) {
	query := boardQuery(q.Board)
	for name, t := range map[string]time.Time{"from": q.From, "to": q.To} {
		if !t.IsZero() {
			query.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	if q.Cursor != "" {
		query.Set("cursor", q.Cursor)
	}
	setInt(query, "limit", int64(q.Limit))
	var statement Statement
	err := c.do(ctx, call{
		op: "read the statement of " + user, method: http.MethodGet, path: "/v1/users/" + url.PathEscape(user) + "/statement", query: query,
	}, &statement)
	return statement, err
}

func (c *Client) place(ctx context.Context, op, path string, q PlaceQuery) (Place, error) {
	query := boardQuery(q.Board)
	query.Set("k", strconv.Itoa(q.Neighbours)) // 0 too: the server's default is not none everywhere
	setInt(query, "min_version", q.MinVersion)
	if q.Score != nil {
		query.Set("score", strconv.FormatInt(*q.Score, 10))
	}
	var place Place
	err := c.do(ctx, call{op: op, method: http.MethodGet, path: path, query: query}, &place)
	return place, err
}

// Users reads the standings of up to 100 users, such as somebody's friends.
func (c *Client) Users(ctx context.Context, board string, users []string) (List, error) {
	var list List
	err := c.do(ctx, call{
		op: "read the standings of a list", method: http.MethodPost, path: "/v1/leaderboard/users",
		body: func(time.Time) any { return protocol.Users{Board: board, UserIDs: users} },
	}, &list)
	return list, err
}

// PutProfile sets how a user is shown; what is empty in it is removed. Users
// may set their own.
func (c *Client) PutProfile(ctx context.Context, user string, p Profile) (Profile, error) {
	var kept Profile
	err := c.do(ctx, call{
		op: "set the profile of " + user, method: http.MethodPut, path: "/v1/users/" + url.PathEscape(user) + "/profile",
		body: func(time.Time) any { return Profile{DisplayName: p.DisplayName, AvatarURL: p.AvatarURL} },
	}, &kept)
	return kept, err
}

func boardQuery(board string) url.Values {
	query := url.Values{}
	if board != "" {
		query.Set("board", board)
	}
	return query
}

func setInt(query url.Values, name string, n int64) {
	if n != 0 {
		query.Set(name, strconv.FormatInt(n, 10))
	}
}
