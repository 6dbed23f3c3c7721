package pg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// BoardColumns are the columns that ScanBoard reads.
const BoardColumns = `board_id, family_id, mode, sort_order, status, min_delta, max_delta, min_score, max_score,
    public, coalesce(region, ''), created_at, period, time_zone, week_start % 7, period_start, period_end, closed_at,
    require_action_token, require_attestation, action_least_ms, action_life_ms,
    coalesce(standings_version, 0),
    coalesce(encode(standings_hash, 'hex'), ''), source_board, coalesce(aggregate, ''), coalesce(best_of, 0),
    coalesce(moves, ''), coalesce(platform, ''), tags, rules_version,
    partitions, bounds_version, attempts, tiers, coalesce(schedule, ''), coalesce(metadata, ''),
    coalesce(ties, ''), league, join_required, late_join, max_players, coalesce(subscore, ''),
    coalesce(min_subscore, 0), coalesce(max_subscore, 0), appearance`

// ImpossibleDelta is beyond every delta of an increment: a board of teams, which takes none, has it as a bound.
const ImpossibleDelta = scoreboard.MaxScore + 1

// ScanBoard scans BoardColumns, after any columns selected before them.
func ScanBoard(row pgx.Row, before ...any) (b scoreboard.Board, err error) {
	var start, end, closed *time.Time
	var minAge, ttl int64 // milliseconds
	var source *scoreboard.BoardID
	var team scoreboard.TeamRule
	err = row.Scan(append(before, &b.ID, &b.Family, &b.Mode, &b.Order, &b.Status, &b.MinDelta, &b.MaxDelta,
		&b.MinScore, &b.MaxScore, &b.Public, &b.Region, &b.Created, &b.Period, &b.TimeZone, &b.WeekStart,
		&start, &end, &closed, &b.Require.ActionToken, &b.Require.Attestation, &minAge, &ttl,
		&b.StandingsVersion, &b.StandingsHash,
		&source, &team.Aggregate, &team.Best, &team.Moves, &b.Platform, &b.Tags, &b.RulesVersion, &b.Partitions,
		&b.BoundsVersion, &b.Attempts, &b.Tiers, &b.Schedule, &b.Metadata, &b.Ties, &b.League,
		&b.Join.Required, &b.Join.Late, &b.Join.MaxPlayers, &b.Subscore, &b.MinSubscore, &b.MaxSubscore,
		&b.Appearance)...)
	if source != nil {
		team.Source = *source
		b.Team = &team
	}
	b.Require.MinActionTime = time.Duration(minAge) * time.Millisecond
	b.Require.ActionTTL = time.Duration(ttl) * time.Millisecond
	b.Created = b.Created.UTC()
	for to, t := range map[*time.Time]*time.Time{&b.PeriodStart: start, &b.PeriodEnd: end, &b.Closed: closed} {
		if t != nil {
			*to = t.UTC()
		}
	}
	return b, err
}

// FindBoard reads one board, or returns a not_found.
func FindBoard(ctx context.Context, q Querier, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return findBoard(ctx, q, id, `select `+BoardColumns+` from boards where board_id = $1`)
}

// FindPublicBoard reads one public board, or returns a not_found.
func FindPublicBoard(ctx context.Context, q Querier, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return findBoard(ctx, q, id, `select `+BoardColumns+` from boards where board_id = $1 and public`)
}

func findBoard(ctx context.Context, q Querier, id scoreboard.BoardID, sql string) (*scoreboard.Board, error) {
	b, err := ScanBoard(q.QueryRow(ctx, sql, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s not found", id)
	}
	if err != nil {
		return nil, Translate(fmt.Errorf("find board %s: %w", id, err))
	}
	return &b, nil
}
