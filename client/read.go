package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Entry is one row of a board: Rank (from 1), UserID, Score, on a board with subscores
// the Subscore and, if the user set them, DisplayName and AvatarURL.
type Entry = wire.Entry

// Top is the top of a board: Entries, best first, the Total number of users, and
// AsOf and AgeMS for its freshness. If it is Degraded, that is, not from a healthy
// ranking, Version and Epoch are nil.
type Top = wire.Top

// Place is one user's standing: Score, Rank, Total, Percentile (the share of users
// ranked below), on a board with tiers the Tier and how far the NextTier is, and, if
// requested, Neighbours.
type Place = wire.Place

// NextTier is the tier before that of a user, and how far the user is from it.
type NextTier = wire.NextTier

// List is the standings of a list of users: Entries, best first, each with its Place
// in the list and its Rank on the board, and NotFound.
type List = wire.List

// Profile is how a user is displayed: DisplayName (up to 32 characters) and AvatarURL
// (https).
type Profile = wire.Profile

// TopQuery selects a page of a board.
type TopQuery struct {
	Board      string // global when empty
	Limit      int    // 1 to 100; 10 when 0
	Cursor     string // NextCursor of the previous page
	MinVersion int64  // wait up to 1 s for this version of the board
	Tier       string // only the users in this tier of the board; without MinVersion and At

	At    time.Time // the standings at this moment; zero: now
	AsNow bool      // with At: without the events that are reversed, and the users that are banned, now
}

// Top reads the top of a board, or with a Cursor the next page. A cursor is a
// standing, not an offset: while others move, users whose standing is unchanged are
// neither skipped nor repeated.
func (c *Client) Top(ctx context.Context, q TopQuery) (Top, error) {
	query := boardQuery(q.Board)
	setInt(query, "limit", int64(q.Limit))
	setInt(query, "min_version", q.MinVersion)
	setText(query, "cursor", q.Cursor)
	setText(query, "tier", q.Tier)
	setPast(query, q.At, q.AsNow)
	var top Top
	err := c.do(ctx, call{op: "read the top", method: http.MethodGet, path: "/v1/leaderboard/top", query: query}, &top)
	return top, err
}

// PlaceQuery selects a user's standing.
type PlaceQuery struct {
	Board      string // global when empty
	Neighbours int    // rows above and below the user, 0 for none
	MinVersion int64  // the standing must include the user's receipt with this version
	// Score, if set, is ranked if the user is not on the board: the error not_found
	// then has its rank in WouldRank.
	Score *int64
	// Subscore goes with Score, on a board that has subscores.
	Subscore *int64

	At    time.Time // the standing at this moment; zero: now
	AsNow bool      // with At: without the events that are reversed, and the users that are banned, now
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

// Statement is a page of a user's ledger: Entries, newest first, NextCursor if there
// are more, and on the last page ArchivedBefore if older events are in the archive.
type Statement = wire.Statement

// StatementEntry is one event on one board.
type StatementEntry = wire.StatementEntry

// StatementQuery selects a page of a statement.
type StatementQuery struct {
	Board    string    // one board, or all periods of a family; all boards when empty
	From, To time.Time // To is exclusive; zero means no limit
	Cursor   string    // NextCursor of the previous page
	Limit    int       // number of entries, up to StatementPage (also when 0)
}

// StatementPage is the maximum number of entries on a page.
const StatementPage = 100

// Statement reads a user's ledger: the token's own user's, or with the scope
// score:operate any user's.
func (c *Client) Statement(ctx context.Context, user string, q StatementQuery) (Statement, error) {
	query := boardQuery(q.Board)
	setTime(query, "from", q.From)
	setTime(query, "to", q.To)
	setText(query, "cursor", q.Cursor)
	setInt(query, "limit", int64(q.Limit))
	var statement Statement
	err := c.do(ctx, call{
		op: "read the statement of " + user, method: http.MethodGet,
		path: "/v1/users/" + url.PathEscape(user) + "/statement", query: query,
	}, &statement)
	return statement, err
}

// RankHistory is a user's score and rank at Points of time, with a summary of them.
type RankHistory = wire.RankHistory

// RankPoint is a user's score and rank at a time; nil if the user had none.
type RankPoint = wire.RankPoint

// AllTimeRanks are statistics of hourly samples of a user's ranks.
type AllTimeRanks = wire.AllTimeRanks

// HistoryQuery selects the points of a RankHistory.
type HistoryQuery struct {
	Board    string        // global when empty; a family is read in the period of the last point
	From, To time.Time     // the first point and the last; a day in hours up to now when zero
	Step     time.Duration // 1 s to 366 days; an hour when zero
	AsNow    bool          // without the events that are reversed, and the users that are banned, now
}

// RankHistory reads a user's score and rank over time, of at most 1,000 points. The user "me"
// is the token's user.
func (c *Client) RankHistory(ctx context.Context, user string, q HistoryQuery) (RankHistory, error) {
	query := boardQuery(q.Board)
	setTime(query, "from", q.From)
	setTime(query, "to", q.To)
	if q.Step != 0 {
		query.Set("step", q.Step.String())
	}
	if q.AsNow {
		query.Set("as", "now")
	}
	var h RankHistory
	err := c.do(ctx, call{
		op: "read the rank history of " + user, method: http.MethodGet,
		path: "/v1/users/" + url.PathEscape(user) + "/history", query: query,
	}, &h)
	return h, err
}

// Timeline is the first rows of a board over time: Frames where they changed, and NextFrom if there
// are more.
type Timeline = wire.Timeline

// TimelineFrame is the first rows of a board at a time, until the next frame.
type TimelineFrame = wire.TimelineFrame

// TimelineQuery selects a part of a Timeline.
type TimelineQuery struct {
	Board    string        // global when empty; a family is read in the period of From, or else of To
	From, To time.Time     // the period or the last day when zero; for the next part, NextFrom and End of the last
	Step     time.Duration // 1 s to 366 days; a 250th of the timeline when zero
	Limit    int           // rows, 1 to 100; 10 when 0
	AsNow    bool          // without the events that are reversed, and the users that are banned, now
}

// Timeline reads a part of a timeline: at most 500 steps and 10,000 rows. The next part is of the Board of
// the last one, which is a period if the query's board is a family.
func (c *Client) Timeline(ctx context.Context, q TimelineQuery) (Timeline, error) {
	query := boardQuery(q.Board)
	setTime(query, "from", q.From)
	setTime(query, "to", q.To)
	setInt(query, "limit", int64(q.Limit))
	if q.Step != 0 {
		query.Set("step", q.Step.String())
	}
	if q.AsNow {
		query.Set("as", "now")
	}
	var f Timeline
	err := c.do(ctx, call{
		op: "read a timeline of the board", method: http.MethodGet, path: "/v1/leaderboard/timeline", query: query,
	}, &f)
	return f, err
}

// RankExplanation is what a user's rank follows from: the sources of the score, the Latest
// events, the users Above and Below, and ties.
type RankExplanation = wire.RankExplanation

// RankNeighbour is the user directly ahead of another or behind.
type RankNeighbour = wire.RankNeighbour

// ExplainRank reads what a user's rank on a board follows from: the token's own user's, or
// with the scope score:operate any user's. The user "me" is the token's user.
func (c *Client) ExplainRank(ctx context.Context, user, board string) (RankExplanation, error) {
	var e RankExplanation
	err := c.do(ctx, call{
		op: "explain the rank of " + user, method: http.MethodGet,
		path: "/v1/users/" + url.PathEscape(user) + "/rank/explain", query: boardQuery(board),
	}, &e)
	return e, err
}

// setPast sets the parameters of a past read.
func setPast(query url.Values, at time.Time, asNow bool) {
	setTime(query, "at", at)
	if asNow {
		query.Set("as", "now")
	}
}

func (c *Client) place(ctx context.Context, op, path string, q PlaceQuery) (Place, error) {
	query := boardQuery(q.Board)
	query.Set("k", strconv.Itoa(q.Neighbours)) // even 0, which is not the server's default everywhere
	setInt(query, "min_version", q.MinVersion)
	setPast(query, q.At, q.AsNow)
	if q.Score != nil {
		query.Set("score", strconv.FormatInt(*q.Score, 10))
	}
	if q.Subscore != nil {
		query.Set("subscore", strconv.FormatInt(*q.Subscore, 10))
	}
	var place Place
	err := c.do(ctx, call{op: op, method: http.MethodGet, path: path, query: query}, &place)
	return place, err
}

// Users reads the standings of up to 100 users, such as a player's friends.
func (c *Client) Users(ctx context.Context, board string, users []string) (List, error) {
	var list List
	err := c.do(ctx, call{
		op: "read the standings of a list", method: http.MethodPost, path: "/v1/leaderboard/users",
		body: func(time.Time) any { return wire.Users{Board: board, UserIDs: users} },
	}, &list)
	return list, err
}

// Profile reads a user's profile. Users may read their own; it needs the scope
// score:operate for others. The error is not_found if the user has none.
func (c *Client) Profile(ctx context.Context, user string) (Profile, error) {
	var kept Profile
	err := c.do(ctx, call{
		op: "read the profile of " + user, method: http.MethodGet,
		path: "/v1/users/" + url.PathEscape(user) + "/profile",
	}, &kept)
	return kept, err
}

// Privacy is a user's setting of visibility on boards: Visibility is public, friends,
// pseudonym or private. A private user is on no board.
type Privacy = wire.Privacy

// Privacy reads a user's visibility. Users may read their own; it needs the scope score:operate for
// others.
func (c *Client) Privacy(ctx context.Context, user string) (Privacy, error) {
	var kept Privacy
	err := c.do(ctx, call{
		op: "read who sees " + user, method: http.MethodGet, path: "/v1/users/" + url.PathEscape(user) + "/privacy",
	}, &kept)
	return kept, err
}

// SetPrivacy sets a user's visibility: public, friends, pseudonym or private. Users may set their own; it
// needs the scope score:operate for others.
func (c *Client) SetPrivacy(ctx context.Context, user, visibility string) (Privacy, error) {
	var kept Privacy
	err := c.do(ctx, call{
		op: "set who sees " + user, method: http.MethodPut,
		path: "/v1/users/" + url.PathEscape(user) + "/privacy", query: because(ctx),
		body: func(time.Time) any { return wire.PrivacyRequest{Visibility: visibility} },
	}, &kept)
	return kept, err
}

// PutProfile sets a user's profile; an empty field removes the value. Users may set
// their own.
func (c *Client) PutProfile(ctx context.Context, user string, p Profile) (Profile, error) {
	var kept Profile
	err := c.do(ctx, call{
		op: "set the profile of " + user, method: http.MethodPut,
		path: "/v1/users/" + url.PathEscape(user) + "/profile", query: because(ctx),
		body: func(time.Time) any {
			return wire.ProfileRequest{DisplayName: p.DisplayName, AvatarURL: p.AvatarURL}
		},
	}, &kept)
	return kept, err
}
