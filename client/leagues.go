package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Leagues, as the server sends them.
type (
	// League divides the players of a periodic board into divisions and cohorts.
	League = wire.League
	// LeaguePlace is where a player is in a period of a league.
	LeaguePlace = wire.LeaguePlace
	// Cohort is a page of the standings of a cohort.
	Cohort = wire.Cohort
	// Cohorts is a page of the cohorts of a period, with how full they are.
	Cohorts = wire.Cohorts
	// LeagueOutcome is what the end of a period has decided about a player.
	LeagueOutcome = wire.LeagueOutcome
	// LeagueHistory is a page of such outcomes, newest first.
	LeagueHistory = wire.LeagueHistory
)

func leaguePath(board string) string { return "/v1/leagues/" + url.PathEscape(board) }

// LeaguePlace returns where a user is in a league: division, cohort and rank in it, with k neighbours on
// each side. board is a league, for its current period, or a period; user is "" for the token's. Another
// user needs the scope score:update or score:operate.
func (c *Client) LeaguePlace(ctx context.Context, board, user string, k int) (LeaguePlace, error) {
	path := leaguePath(board) + "/me"
	if user != "" {
		path = leaguePath(board) + "/users/" + url.PathEscape(user)
	}
	query := url.Values{}
	setInt(query, "k", int64(k))
	var p LeaguePlace
	err := c.do(ctx, call{op: "read a place in league " + board, method: http.MethodGet, path: path, query: query}, &p)
	return p, err
}

// Cohort returns the standings of a cohort after a rank (0: from the first on), at most limit (0: all).
func (c *Client) Cohort(ctx context.Context, board string, cohort, after int64, limit int) (Cohort, error) {
	query := url.Values{}
	setInt(query, "after", after)
	setInt(query, "limit", int64(limit))
	var page Cohort
	err := c.do(ctx, call{
		op: "read a cohort of league " + board, method: http.MethodGet,
		path: leaguePath(board) + "/cohorts/" + strconv.FormatInt(cohort, 10), query: query,
	}, &page)
	return page, err
}

// Cohorts lists the cohorts of a period of a league after an id (0: from the first on), of one division or, for 0,
// of all, at most limit (0: 100). It needs the scope score:operate.
func (c *Client) Cohorts(ctx context.Context, board string, division int, after int64, limit int) (Cohorts, error) {
	query := url.Values{}
	setInt(query, "division", int64(division))
	setInt(query, "after", after)
	setInt(query, "limit", int64(limit))
	var page Cohorts
	err := c.do(ctx, call{
		op: "list the cohorts of league " + board, method: http.MethodGet,
		path: "/v1/admin/leagues/" + url.PathEscape(board) + "/cohorts", query: query,
	}, &page)
	return page, err
}

// LeagueQuery are the parameters of a list of outcomes.
type LeagueQuery struct {
	User   string // "": the token's user; another one needs the scope score:update or score:operate
	League string // only of this league; "": of all
	Before int64  // NextBefore of the previous page
	Limit  int    // 1 to 1000; 0 is 100
}

// LeagueHistory lists what the ends of periods have decided about a user, newest first.
func (c *Client) LeagueHistory(ctx context.Context, q LeagueQuery) (LeagueHistory, error) {
	user := q.User
	if user == "" {
		user = "me"
	}
	query := url.Values{}
	setText(query, "league", q.League)
	setInt(query, "before", q.Before)
	setInt(query, "limit", int64(q.Limit))
	var page LeagueHistory
	err := c.do(ctx, call{
		op: "list periods in leagues", method: http.MethodGet, path: "/v1/users/" + url.PathEscape(user) + "/leagues",
		query: query,
	}, &page)
	return page, err
}

// LeagueRecomputed is a page of the outcomes of a period that differ without reversed events.
type LeagueRecomputed = wire.LeagueRecomputed

// LeagueRecomputeRequest says which page to recompute, and whether the players move.
type LeagueRecomputeRequest = wire.LeagueRecomputeRequest

// RecomputeLeague derives outcomes of a period that has been decided without the events that reversals and voids
// name, and with Apply moves the players. It needs the scope score:admin.
func (c *Client) RecomputeLeague(
	ctx context.Context, board string, r LeagueRecomputeRequest,
) (LeagueRecomputed, error) {
	var page LeagueRecomputed
	err := c.do(ctx, call{
		op: "recompute league " + board, method: http.MethodPost,
		path: "/v1/admin/leagues/" + url.PathEscape(board) + "/recompute", sign: true,
		body: func(time.Time) any { return r },
	}, &page)
	return page, err
}
