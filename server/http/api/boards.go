package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Boards reads and changes boards in the store, not through a cache, so that reads
// show the latest change. A change and its audit entry are one transaction.
type Boards interface {
	// CreateBoard creates a board and its ranking, with its first season if it has
	// seasons.
	CreateBoard(
		ctx context.Context, b *scoreboard.Board, season *scoreboard.Span, why *scoreboard.AuditEntry,
	) (*scoreboard.Board, error)
	// PreviewBoard returns what CreateBoard would, and changes nothing.
	PreviewBoard(ctx context.Context, b *scoreboard.Board, season *scoreboard.Span) (*scoreboard.Board, error)
	FindBoards(ctx context.Context, f scoreboard.BoardFilter) ([]scoreboard.Board, error)
	FindBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
	// FindPublicBoard returns a not_found for a private board, after the same work.
	FindPublicBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
	FreezeBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error)
	UnfreezeBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error)
	ArchiveBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error)
	// ChangeBoard changes a board's labels, the requirements of its increments, and the number of its
	// ranking's partitions.
	ChangeBoard(
		ctx context.Context, id scoreboard.BoardID, change *scoreboard.BoardChange, why *scoreboard.AuditEntry,
	) (*scoreboard.Board, error)
	// Rules lists the boards that have a rule, by name; SetRule and ClearRule change them.
	Rules(ctx context.Context) ([]scoreboard.RuledBoard, error)
	SetRule(
		ctx context.Context, id scoreboard.BoardID, rule *scoreboard.BoardRule, why *scoreboard.AuditEntry,
	) (scoreboard.RuledBoard, error)
	ClearRule(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error)
	// FinalStandings returns the standings below a rank; not_found if the board has
	// none.
	FinalStandings(
		ctx context.Context, id scoreboard.BoardID, after int64, limit int,
	) (scoreboard.EndedPeriod, []scoreboard.FinalStanding, error)
	// Roll ends and starts the periods that are due, of one family or of all.
	Roll(
		ctx context.Context, family scoreboard.BoardID, dry bool,
	) (made []scoreboard.BoardID, ended []scoreboard.EndedPeriod, err error)
	// BeginSeason starts a season, now if it has no start, and returns the season
	// that this ends.
	BeginSeason(
		ctx context.Context, family scoreboard.BoardID, season scoreboard.Span, dry bool, why *scoreboard.AuditEntry,
	) (ended *scoreboard.BoardID, err error)
}

// boards shows and changes boards.
type boards struct {
	store   Boards
	catalog Catalog
	log     *slog.Logger
	now     clock
}

// previewedResets is how many resets of a new board a dry run says.
const previewedResets = 10

// createBoard is POST /v1/boards. A dry run checks what creating the board would, and answers
// with the board and its next resets.
func (h *boards) createBoard(c *gin.Context, caller *auth.Claims) error {
	var r wire.BoardRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	board, err := newBoard(&r)
	if err != nil {
		return err
	}
	season, err := h.firstSeason(&r, board)
	if err != nil {
		return err
	}
	why := auditEntry(c, caller, "board:"+string(board.ID))
	if r.DryRun {
		made, err := h.store.PreviewBoard(c.Request.Context(), board, season)
		if err != nil {
			return err
		}
		out := h.boardJSON(c, caller, made)
		if out.NextResets, err = made.Resets(h.now(), previewedResets); err != nil {
			return err
		}
		respond(c, http.StatusOK, out)
		return nil
	}
	made, err := h.store.CreateBoard(c.Request.Context(), board, season, why)
	if err != nil {
		return err
	}
	requestLog(h.log, c).Info("board created", "board", made.ID, "mode", made.Mode, "period", made.Period)
	respond(c, http.StatusCreated, h.boardJSON(c, caller, made))
	return nil
}

// newBoard returns the board that a request describes.
func newBoard(r *wire.BoardRequest) (*scoreboard.Board, error) {
	b := &scoreboard.Board{
		ID: scoreboard.BoardID(r.Board), Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest,
		Labels: scoreboard.Labels{Region: r.Region, Platform: r.Platform, Tags: r.Tags},
		Public: r.Public == nil || *r.Public, TimeZone: "UTC",
		MinScore: -scoreboard.MaxScore, MaxScore: scoreboard.MaxScore, Partitions: 1,
	}
	override(&b.Partitions, r.Partitions)
	if err := scoreboard.CheckPartitions(b.Partitions); err != nil {
		return nil, err
	}
	if err := parseTeam(b, r); err != nil {
		return nil, err
	}
	tiers, err := parseTiers(r.Tiers)
	if err != nil {
		return nil, err
	}
	b.Tiers = tiers
	if b.League, err = parseLeague(r.League); err != nil {
		return nil, err
	}
	if r.Mode != "" {
		b.Mode = scoreboard.Mode(r.Mode)
	}
	if r.Order != "" {
		b.Order = scoreboard.Order(r.Order)
	}
	if r.TimeZone != "" {
		b.TimeZone = r.TimeZone
	}
	override((*int64)(&b.MinScore), r.MinScore)
	override((*int64)(&b.MaxScore), r.MaxScore)
	if err := parseSubscores(b, r); err != nil {
		return nil, err
	}
	// The delta of an increment board is a step, that of the others a score.
	if b.MinDelta, b.MaxDelta = int64(b.MinScore), int64(b.MaxScore); b.Mode == scoreboard.ModeIncrement {
		b.MinDelta, b.MaxDelta = 1, 1_000_000
	}
	override(&b.MinDelta, r.MinDelta)
	override(&b.MaxDelta, r.MaxDelta)
	override(&b.Attempts, r.Attempts)
	if b.Metadata, err = scoreboard.ParseMetadataOf(r.Metadata); err != nil {
		return nil, err
	}
	if b.Ties, err = scoreboard.ParseTies(r.Ties); err != nil {
		return nil, err
	}
	if b.Period, err = scoreboard.ParsePeriod(r.Period); err != nil {
		return nil, err
	}
	b.Join = scoreboard.JoinRule{MaxPlayers: r.MaxPlayers, Late: r.LateJoin}
	if b.Join.Required, err = scoreboard.ParseJoin(r.Join); err != nil {
		return nil, err
	}
	appearance := scoreboard.Appearance{Title: r.Title, Description: r.Description, Color: r.Color, Image: r.Image}
	if appearance != (scoreboard.Appearance{}) {
		b.Appearance = &appearance
	}
	b.Schedule = scoreboard.CleanSchedule(r.Schedule)
	if b.WeekStart, err = scoreboard.ParseWeekday(r.WeekStart); err != nil {
		return nil, err
	}
	if err := parseRequirements(&b.Require, r); err != nil {
		return nil, err
	}
	return b, b.Check()
}

// parseTeam sets the rule of a board of teams, which leaves no choice of mode and order.
func parseTeam(b *scoreboard.Board, r *wire.BoardRequest) error {
	if r.Team == nil {
		return nil
	}
	if r.Mode != "" || r.Order != "" || r.MinDelta != nil || r.MaxDelta != nil || len(r.Require) > 0 ||
		r.Attempts != nil || r.Metadata != "" || r.Subscore != "" {
		return scoreboard.Invalid("team", "a board of teams takes no increments and has the order of its source; "+
			"leave out mode, order, min_delta, max_delta, require, attempts, metadata and subscore")
	}
	b.Mode = scoreboard.ModeLatest
	b.Team = &scoreboard.TeamRule{
		Source: scoreboard.BoardID(r.Team.Source), Aggregate: scoreboard.Aggregate(r.Team.Aggregate),
		Best: r.Team.Best, Moves: scoreboard.TeamMoves(r.Team.Moves),
	}
	return nil
}

// firstSeason returns the first season of a new board, nil if it has no seasons.
func (h *boards) firstSeason(r *wire.BoardRequest, b *scoreboard.Board) (*scoreboard.Span, error) {
	if b.Period == scoreboard.PeriodSeason {
		return h.parseSeason(r.Season, r.StartsAt, r.EndsAt)
	}
	if r.Season != "" || r.StartsAt != nil || r.EndsAt != nil {
		return nil, scoreboard.Invalid("season", "season, starts_at and ends_at require period=season")
	}
	return nil, nil //nolint:nilnil // most boards have no seasons
}

// parseSeason returns the span of a season. Without a start it starts now, by the
// clock of the store.
func (h *boards) parseSeason(name string, starts, ends *time.Time) (*scoreboard.Span, error) {
	if _, err := scoreboard.ParseBoardID("season:" + name); err != nil {
		return nil, scoreboard.Invalid("season", "season must match [a-z0-9][a-z0-9_.-]{0,47}")
	}
	if ends == nil {
		return nil, scoreboard.Invalid("ends_at", "a season requires ends_at")
	}
	s := &scoreboard.Span{Name: name, End: ends.UTC().Truncate(time.Microsecond)}
	if starts != nil {
		s.Start = starts.UTC().Truncate(time.Microsecond)
		if !scoreboard.IsWritable(s.Start) {
			return nil, scoreboard.Invalid("starts_at", "starts_at must be in the years 1 to 9999 of UTC")
		}
	}
	if !s.Start.Before(s.End) || !s.End.After(h.now()) || !scoreboard.IsWritable(s.End) {
		return nil, scoreboard.Invalid("ends_at", "ends_at must be in the future and after starts_at")
	}
	return s, nil
}

// The bounds of a list of boards.
const defaultBoards, maxBoards = 100, 1000

// listBoards is GET /v1/boards: the boards that match the query, by name.
func (h *boards) listBoards(c *gin.Context, caller *auth.Claims) error {
	limit, err := queryInt(c, "limit", defaultBoards, 1, maxBoards)
	if err != nil {
		return err
	}
	f := scoreboard.BoardFilter{
		Public: !actsForAll(caller), Limit: limit,
		Region: c.Query("region"), Platform: c.Query("platform"), Tag: c.Query("tag"),
	}
	if text := c.Query("period"); text != "" {
		if f.Period, err = scoreboard.ParsePeriod(text); err != nil {
			return err
		}
	}
	if text := c.Query("family"); text != "" {
		if f.Family, err = scoreboard.ParseBoardID(text); err != nil {
			return err
		}
	}
	if text := c.Query("status"); text != "" {
		if f.Status, err = scoreboard.ParseStatus(text); err != nil {
			return err
		}
	}
	if text := c.Query("after"); text != "" {
		if f.After, err = scoreboard.ParseBoardID(text); err != nil {
			return err
		}
	}
	boards, err := h.store.FindBoards(c.Request.Context(), f)
	if err != nil {
		return err
	}
	if len(boards) == 0 && f.After == "" && (f.Region != "" || f.Platform != "" || f.Tag != "" || f.Family != "") {
		return scoreboard.Errorf(wire.CodeNotFound, "no board matches")
	}
	out := wire.Boards{Boards: make([]wire.Board, len(boards))}
	for i := range boards {
		out.Boards[i] = h.boardJSON(c, caller, &boards[i])
	}
	if len(boards) == limit {
		out.NextAfter = string(boards[limit-1].ID)
	}
	respond(c, http.StatusOK, out)
	return nil
}

type boardChange func(context.Context, scoreboard.BoardID, *scoreboard.AuditEntry) (*scoreboard.Board, error)

// changeBoard is POST /v1/boards/{board}/freeze, unfreeze and archive. It answers
// with the changed board, and is idempotent.
func (h *boards) changeBoard(change boardChange) handler {
	return func(c *gin.Context, caller *auth.Claims) error {
		id, err := scoreboard.ParseBoardID(c.Param("board"))
		if err != nil {
			return err
		}
		if err := decodeNothing(c); err != nil {
			return err
		}
		b, err := change(c.Request.Context(), id, auditEntry(c, caller, "board:"+string(id)))
		if err != nil {
			return err
		}
		requestLog(h.log, c).Info("board changed", "board", id, "status", b.Status)
		respond(c, http.StatusOK, h.boardJSON(c, caller, b))
		return nil
	}
}

// showBoard is GET /v1/boards/{board}.
func (h *boards) showBoard(c *gin.Context, caller *auth.Claims) error {
	b, err := h.findBoard(c, caller)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, h.boardJSON(c, caller, b))
	return nil
}

// findBoard returns the board in the path, as the caller may see it.
func (h *boards) findBoard(c *gin.Context, caller *auth.Claims) (*scoreboard.Board, error) {
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return nil, err
	}
	if actsForAll(caller) {
		return h.store.FindBoard(c.Request.Context(), id)
	}
	return h.store.FindPublicBoard(c.Request.Context(), id)
}

// teamRule returns the rule of a board of teams as the caller may see it: without the name of a
// private source.
func (h *boards) teamRule(c *gin.Context, caller *auth.Claims, rule *scoreboard.TeamRule) *wire.TeamRule {
	out := protocol.NewTeamRule(rule)
	if out != nil {
		if _, err := (boardAccess{catalog: h.catalog}).board(c.Request.Context(), rule.Source, caller); err != nil {
			out.Source = ""
		}
	}
	return out
}

func (h *boards) boardJSON(c *gin.Context, caller *auth.Claims, b *scoreboard.Board) wire.Board {
	out := wire.Board{
		Board: string(b.ID), Mode: string(b.Mode), Order: string(b.Order), Status: string(b.Status),
		MinDelta: b.MinDelta, MaxDelta: b.MaxDelta, MinScore: int64(b.MinScore), MaxScore: int64(b.MaxScore),
		Public: b.Public, Region: b.Region, Platform: b.Platform, Tags: b.Tags, Period: string(b.Period),
		PeriodStart: timePtr(b.PeriodStart), PeriodEnd: timePtr(b.PeriodEnd),
		CreatedAt: b.Created, ClosedAt: timePtr(b.Closed),
		Schedule: b.Schedule, Attempts: b.Attempts, BoundsVersion: b.BoundsVersion,
		StandingsHash: b.StandingsHash,
		Team:          h.teamRule(c, caller, b.Team), Partitions: b.Partitions,
		Tiers: tiersJSON(b.Tiers), Metadata: string(b.Metadata), Ties: string(b.Ties),
		League:      leagueJSON(b.League),
		Subscore:    string(b.Subscore),
		MinSubscore: subscoreJSON(b, b.MinSubscore), MaxSubscore: subscoreJSON(b, b.MaxSubscore),
	}
	if b.Join.Required {
		out.Join, out.MaxPlayers, out.LateJoin = wire.JoinRequired, b.Join.MaxPlayers, b.Join.Late
	}
	if a := b.Appearance; a != nil {
		out.Title, out.Description, out.Color, out.Image = a.Title, a.Description, a.Color, a.Image
	}
	if b.Team != nil { // it takes no increments
		out.MinDelta, out.MaxDelta = 0, 0
	}
	if b.Period != scoreboard.PeriodNone {
		out.TimeZone = b.TimeZone
	}
	if b.Period == scoreboard.PeriodWeekly {
		out.WeekStart = strings.ToLower(b.WeekStart.String())
	}
	instance := b
	if b.IsFamily() {
		if current, err := h.catalog.Board(c.Request.Context(), b.ID); err == nil {
			out.Current = string(current.ID)
			instance = current
		}
	} else if b.ID != b.Family {
		out.Family = string(b.Family)
	}
	out.EndsAt, out.NextReset = periodTimes(c.Request.Context(), h.catalog, instance, h.now)
	addRequirements(&out, &b.Require)
	return out
}

// periodTimes returns when the period of an instance ends, and when the next one begins; nil
// where there is none.
func periodTimes(
	ctx context.Context, catalog Catalog, b *scoreboard.Board, now clock,
) (ends, next *time.Time) {
	if b.PeriodEnd.IsZero() {
		return nil, nil
	}
	var periods []*scoreboard.Board
	if b.Period == scoreboard.PeriodSeason {
		// Only while the store has not answered yet are they unknown.
		periods, _ = catalog.Periods(ctx, b.Family)
	}
	return timePtr(b.PeriodEnd), timePtr(b.NextReset(periods, now()))
}
