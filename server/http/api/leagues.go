package api

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Leagues stores who plays where in leagues.
type Leagues interface {
	// Member returns where a user is in a period of a league.
	Member(ctx context.Context, period scoreboard.BoardID, user scoreboard.UserID) (scoreboard.LeagueMember, error)
	// Cohort returns a cohort of a period, or a not_found.
	Cohort(ctx context.Context, period scoreboard.BoardID, id int64) (*scoreboard.Cohort, error)
	// CohortFills lists the cohorts of a period after an id, of one division or, for 0, of all.
	CohortFills(
		ctx context.Context, period scoreboard.BoardID, division int, after int64, limit int,
	) ([]scoreboard.CohortFill, error)
	// Outcomes lists what the ends of periods have decided about a user, newest first, before an id.
	Outcomes(
		ctx context.Context, user scoreboard.UserID, league scoreboard.BoardID, before int64, limit int,
	) ([]scoreboard.LeagueOutcome, error)
}

// CohortReads ranks players within their cohorts.
type CohortReads interface {
	// CohortOn returns the standings of members with ranks among them. All but one are shown as on the board.
	CohortOn(
		ctx context.Context, board *scoreboard.Board, members []scoreboard.UserID, except scoreboard.UserID,
	) (*scoreboard.List, error)
}

// The bounds of lists of outcomes, and of cohorts.
const (
	defaultOutcomes, maxOutcomes = 100, 1000
	defaultCohorts, maxCohorts   = 100, 1000
)

// The values of idle and fill.
const (
	idleStay     = "stay"
	idleRelegate = "relegate"

	fillOrder     = "order"
	fillAttribute = "attribute "
)

// parseLeague returns the league that a request describes, nil for none, without checking it.
func parseLeague(in *wire.League) (*scoreboard.League, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // most boards are no leagues
	}
	l := &scoreboard.League{
		Divisions: in.Divisions, CohortSize: cmp.Or(in.CohortSize, scoreboard.DefaultCohortSize),
	}
	l.Min = cmp.Or(in.Min, min(scoreboard.DefaultCohortMin, l.CohortSize))
	l.Promote = min(scoreboard.DefaultPromoted, l.CohortSize)
	l.Relegate = min(scoreboard.DefaultRelegated, l.CohortSize)
	override(&l.Promote, in.Promote)
	override(&l.Relegate, in.Relegate)
	switch in.Idle {
	case "", idleStay:
	case idleRelegate:
		l.IdleRelegated = true
	default:
		return nil, scoreboard.Invalid("league", "idle of a league must be stay or relegate")
	}
	if in.Fill != "" && in.Fill != fillOrder {
		name, is := strings.CutPrefix(in.Fill, fillAttribute)
		if !is || name == "" {
			return nil, scoreboard.Invalid("league", "fill of a league must be order, or attribute and a name, such "+
				"as attribute region")
		}
		l.Attribute = name
	}
	return l, nil
}

func leagueJSON(l *scoreboard.League) *wire.League {
	if l == nil {
		return nil
	}
	out := &wire.League{
		Divisions: l.Divisions, CohortSize: l.CohortSize, Min: l.Min, Promote: &l.Promote, Relegate: &l.Relegate,
		Idle: idleStay, Fill: fillOrder,
	}
	if l.IdleRelegated {
		out.Idle = idleRelegate
	}
	if l.Attribute != "" {
		out.Fill = fillAttribute + l.Attribute
	}
	return out
}

// leagues answers with places in leagues.
type leagues struct {
	store  Leagues
	reads  CohortReads
	access *boardAccess
	boards *userBoards
	now    clock
}

// league returns the period of a league in the path. On a private one, users may read their own places, without
// neighbours.
func (h *leagues) league(c *gin.Context, caller *auth.Claims, own bool) (*scoreboard.Board, error) {
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return nil, err
	}
	var board *scoreboard.Board
	if own && !actsForAll(caller) {
		board, err = h.boards.ownBoard(c.Request.Context(), id, caller.User)
	} else {
		board, err = h.access.board(c.Request.Context(), id, caller)
	}
	switch {
	case err != nil:
		return nil, err
	case board.League == nil:
		return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s is not a league", board.Family)
	case board.IsFamily():
		return nil, scoreboard.Errorf(wire.CodeNotFound, "league %s has no current period", board.ID)
	}
	return board, nil
}

// leaguePlace is GET /v1/leagues/{board}/me and /v1/leagues/{board}/users/{user_id}.
func (h *leagues) leaguePlace(c *gin.Context, caller *auth.Claims) error {
	user := caller.User
	if _, given := c.Params.Get("user_id"); given {
		var err error
		if user, err = pathUser(c, caller); err != nil {
			return err
		}
	}
	if user == "" {
		return scoreboard.Errorf(wire.CodeForbidden, "the token is for no user; name one")
	}
	if user != caller.User && !actsForAll(caller) {
		return scoreboard.Errorf(wire.CodeForbidden, "only the user, servers and operators read the place of a user")
	}
	k, err := queryInt(c, "k", 0, 0, maxNeighbours)
	if err != nil {
		return err
	}
	board, err := h.league(c, caller, user == caller.User && k == 0)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	m, err := h.store.Member(ctx, board.ID, user)
	if err != nil {
		return err
	}
	out := wire.LeaguePlace{
		League: string(board.Family), Board: string(board.ID), UserID: string(user), Division: m.Division,
		Divisions: board.League.Divisions, State: string(m.State), Cohort: m.Cohort, EndsAt: board.PeriodEnd,
		SecondsLeft: int64(math.Ceil(max(board.PeriodEnd.Sub(h.now()), 0).Seconds())),
	}
	if m.State == scoreboard.LeaguePlaced {
		if err := h.addStanding(ctx, caller, &out, board, user, k); err != nil {
			return err
		}
	}
	respond(c, http.StatusOK, out)
	return nil
}

// addStanding adds the rank of a user in the cohort, and k neighbours on each side.
func (h *leagues) addStanding(
	ctx context.Context, caller *auth.Claims, out *wire.LeaguePlace, board *scoreboard.Board, user scoreboard.UserID,
	k int,
) error {
	cohort, err := h.store.Cohort(ctx, board.ID, out.Cohort)
	if err != nil {
		return err
	}
	list, err := h.reads.CohortOn(ctx, board, cohort.Members, user)
	if err != nil {
		return err
	}
	out.Players, out.Degraded, out.DegradedReason = list.Total, list.Degraded != "", list.Degraded
	for i := range list.Entries {
		if list.Entries[i].ID() != user {
			continue
		}
		e := &list.Entries[i]
		out.Rank, out.Score, out.Subscore = e.Rank, new(int64(e.Score)), subscoreJSON(board, e.Subscore)
		out.Zone = string(board.League.ZoneOf(cohort.Division, e.Rank, list.Total))
		if k > 0 {
			out.Neighbours = entriesJSON(board, rowsFor(caller,
				list.Entries[max(i-k, 0):min(i+k+1, len(list.Entries))]))
		}
	}
	return nil
}

// cohort is GET /v1/leagues/{board}/cohorts/{id}.
func (h *leagues) cohort(c *gin.Context, caller *auth.Claims) error {
	id, err := pathID(c, "cohort")
	if err != nil {
		return err
	}
	after, err := queryInt(c, "after", 0, 0, scoreboard.MaxCohortSize)
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", scoreboard.MaxCohortSize, 1, scoreboard.MaxCohortSize)
	if err != nil {
		return err
	}
	board, err := h.league(c, caller, false)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	cohort, err := h.store.Cohort(ctx, board.ID, id)
	if err != nil {
		return err
	}
	list, err := h.reads.CohortOn(ctx, board, cohort.Members, "")
	if err != nil {
		return err
	}
	rows := list.Entries[min(after, len(list.Entries)):]
	rows = rows[:min(limit, len(rows))]
	out := wire.Cohort{
		League: string(board.Family), Board: string(board.ID), Cohort: id, Division: cohort.Division,
		Entries: entriesJSON(board, rowsFor(caller, rows)), Players: list.Total, AsOf: list.AsOf,
		AgeMS: h.now.age(list.AsOf), Degraded: list.Degraded != "", DegradedReason: list.Degraded,
	}
	out.Promote, out.Relegate = zonesOf(board.League, cohort.Division, list.Total)
	if end := after + len(rows); len(rows) > 0 && end < len(list.Entries) {
		out.NextAfter = int64(end)
	}
	respond(c, http.StatusOK, out)
	return nil
}

// zonesOf returns how many of the ranked players of a cohort would move up and down.
func zonesOf(league *scoreboard.League, division int, players int64) (promote, relegate int) {
	for rank := range players {
		switch league.ZoneOf(division, rank+1, players) {
		case scoreboard.ZonePromotion:
			promote++
		case scoreboard.ZoneRelegation:
			relegate++
		case scoreboard.ZoneSafe:
		}
	}
	return promote, relegate
}

// cohorts is GET /v1/admin/leagues/{board}/cohorts.
func (h *leagues) cohorts(c *gin.Context, caller *auth.Claims) error {
	division, err := queryInt(c, "division", 0, 1, scoreboard.MaxDivisions)
	if err != nil {
		return err
	}
	after, err := queryID(c, "after")
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultCohorts, 1, maxCohorts)
	if err != nil {
		return err
	}
	board, err := h.league(c, caller, false)
	if err != nil {
		return err
	}
	list, err := h.store.CohortFills(c.Request.Context(), board.ID, division, after, limit+1)
	if err != nil {
		return err
	}
	out := wire.Cohorts{
		League: string(board.Family), Board: string(board.ID), Divisions: board.League.Divisions,
		Cohorts: []wire.CohortFill{},
	}
	if len(list) > limit {
		list = list[:limit]
		out.NextAfter = list[limit-1].ID
	}
	for i := range list {
		f := &list[i]
		row := wire.CohortFill{
			Cohort: f.ID, Division: f.Division, Attribute: f.Fill, Players: f.Places, Size: f.Size, Full: f.Full,
		}
		row.Promote, row.Relegate = zonesOf(board.League, f.Division, f.Places)
		out.Cohorts = append(out.Cohorts, row)
	}
	respond(c, http.StatusOK, out)
	return nil
}

// leagueHistory is GET /v1/users/{user_id}/leagues.
func (h *leagues) leagueHistory(c *gin.Context, caller *auth.Claims) error {
	user, err := pathUser(c, caller)
	if err == nil && user != caller.User && !actsForAll(caller) {
		err = scoreboard.Errorf(wire.CodeForbidden, "only the user, servers and operators read the outcomes of a user")
	}
	if err != nil {
		return err
	}
	var league scoreboard.BoardID
	if text := c.Query("league"); text != "" {
		if league, err = scoreboard.ParseBoardID(text); err != nil {
			return err
		}
		league = league.Family()
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultOutcomes, 1, maxOutcomes)
	if err != nil {
		return err
	}
	list, err := h.store.Outcomes(c.Request.Context(), user, league, before, limit+1)
	if err != nil {
		return err
	}
	out := wire.LeagueHistory{Outcomes: []wire.LeagueOutcome{}}
	if len(list) > limit {
		list = list[:limit]
		out.NextBefore = list[limit-1].ID
	}
	for i := range list {
		o := &list[i]
		out.Outcomes = append(out.Outcomes, wire.LeagueOutcome{
			ID: o.ID, League: string(o.Board.Family()), Board: string(o.Board), UserID: string(o.User),
			Revision: o.Revision, Cohort: o.Cohort, Rank: o.Rank, Players: o.Players, From: o.From, To: o.To,
			DecidedAt: o.Decided,
		})
	}
	respond(c, http.StatusOK, out)
	return nil
}

// recomputeLeague is POST /v1/admin/leagues/{board}/recompute.
func (h *leagueJobs) recomputeLeague(c *gin.Context, caller *auth.Claims) error {
	var r wire.LeagueRecomputeRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if r.After < 0 {
		return scoreboard.Invalid("after", "after must be the next_after of a page")
	}
	if r.Apply || r.Reason != "" {
		if err := scoreboard.CheckReason(r.Reason); err != nil {
			return err
		}
	}
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	if !id.IsInstance() {
		return scoreboard.Invalid("board", "board must be a period of a league, such as %s:2026-w47", id)
	}
	board, err := h.boards.FindBoard(c.Request.Context(), id)
	if err != nil {
		return err
	}
	if board.League == nil {
		return scoreboard.Errorf(wire.CodeNotFound, "board %s is not a league", board.Family)
	}
	var why *scoreboard.AuditEntry
	if r.Apply {
		why = newAuditEntry(c, caller, "board:"+string(id), r.Reason)
	}
	found, next, err := h.store.RecomputeLeague(c.Request.Context(), board, r.After, why)
	if err != nil {
		return err
	}
	if !r.Apply || len(found) == 0 {
		skipAudit(c)
	}
	out := wire.LeagueRecomputed{
		Board: string(id), Applied: r.Apply, NextAfter: next, Players: make([]wire.LeagueCorrection, len(found)),
	}
	for i := range found {
		f := &found[i]
		out.Players[i] = wire.LeagueCorrection{
			UserID: string(f.User), Cohort: f.Cohort, Division: f.Division, RankBefore: f.RankBefore, Rank: f.Rank,
			Players: f.Players, MoveBefore: f.StepBefore, Move: f.Step,
		}
	}
	requestLog(h.log, c).Info("league recomputed", "board", id, "differ", len(found), "applied", r.Apply)
	respond(c, http.StatusOK, out)
	return nil
}

// leagueJobs corrects outcomes of leagues.
type leagueJobs struct {
	store  LeagueCorrections
	boards Boards
	log    *slog.Logger
}

// LeagueCorrections corrects outcomes of leagues.
type LeagueCorrections interface {
	// RecomputeLeague returns the outcomes of the next cohorts that differ without reversed events, and with why
	// moves the players.
	RecomputeLeague(
		ctx context.Context, board *scoreboard.Board, after int64, why *scoreboard.AuditEntry,
	) (found []scoreboard.LeagueCorrection, next int64, err error)
}
