// Package boards creates boards and changes their status, creates the instances
// of periodic boards ahead of time, and stores final standings when they end.
package boards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Boards stores boards and their final standings.
type Boards struct {
	db *pg.DB
	// closeGrace is how long after the end of a period increments that were
	// accepted before it still count for it.
	closeGrace time.Duration
}

// New returns a Boards over db.
func New(db *pg.DB, closeGrace time.Duration) *Boards { return &Boards{db, closeGrace} }

// Mark stands for all boards as they were at a time: it is another one once any was created,
// changed or deleted.
type Mark struct{ boards, versions int64 }

// Mark returns the present mark and the database's time. It costs a fifteenth of reading the
// boards, which hardly ever change. A row that a transaction changes gets its number.
func (s *Boards) Mark(ctx context.Context) (m Mark, at time.Time, err error) {
	const mark = `select count(*), coalesce(bit_xor(hashtextextended(board_id || ' ' || xmin::text, 0)), 0),
    clock_timestamp() from boards`
	if err := s.db.QueryRow(ctx, mark).Scan(&m.boards, &m.versions, &at); err != nil {
		return m, at, pg.Translate(fmt.Errorf("mark boards: %w", err))
	}
	return m, at, nil
}

// All lists every board, by name.
func (s *Boards) All(ctx context.Context) ([]scoreboard.Board, error) {
	rows, err := s.db.Query(ctx, `select `+pg.BoardColumns+` from boards order by board_id`)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list boards: %w", err))
	}
	boards, err := pgx.CollectRows(
		rows,
		func(r pgx.CollectableRow) (scoreboard.Board, error) { return pg.ScanBoard(r) },
	)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list boards: %w", err))
	}
	return boards, nil
}

// FindBoards lists boards. It reads the database, not the catalog.
func (s *Boards) FindBoards(ctx context.Context, f scoreboard.BoardFilter) ([]scoreboard.Board, error) {
	const find = `select ` + pg.BoardColumns + ` from boards
where board_id > $1 and ($2 = '' or family_id = $2) and ($3 = '' or period = $3) and ($4 = '' or region = $4)
  and ($5 = '' or status = $5) and (public or not $6) and ($8 = '' or platform = $8) and ($9 = '' or $9 = any(tags))
order by board_id limit $7`
	rows, err := s.db.Query(ctx, find, f.After, f.Family, f.Period, f.Region, f.Status, f.Public, f.Limit,
		f.Platform, f.Tag)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find boards: %w", err))
	}
	boards, err := pgx.CollectRows(
		rows,
		func(r pgx.CollectableRow) (scoreboard.Board, error) { return pg.ScanBoard(r) },
	)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find boards: %w", err))
	}
	return boards, nil
}

// FindBoard reads one board from the database, or returns a not_found.
func (s *Boards) FindBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return pg.FindBoard(ctx, s.db, id)
}

// FindPublicBoard reads one public board from the database, or returns a not_found. Rows of
// private boards are not sent, so that the time does not tell that there is one.
func (s *Boards) FindPublicBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return pg.FindPublicBoard(ctx, s.db, id)
}

// BoardExists reads from the database whether a board exists.
func (s *Boards) BoardExists(ctx context.Context, id scoreboard.BoardID) (exists bool, err error) {
	if err := s.db.QueryRow(ctx, `select exists (select from boards where board_id = $1)`, id).
		Scan(&exists); err != nil {
		return false, pg.Translate(fmt.Errorf("find board %s: %w", id, err))
	}
	return exists, nil
}

// CreateBoard creates a validated board and, if it is periodic, its first
// instances: for seasons the given one, which starts now if it has no start. It
// returns a conflict if the name is taken.
func (s *Boards) CreateBoard(
	ctx context.Context,
	b *scoreboard.Board,
	season *scoreboard.Span,
	audit *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	return s.createBoard(ctx, b, season, audit, nil)
}

// PreviewBoard returns what CreateBoard would, and changes nothing.
func (s *Boards) PreviewBoard(
	ctx context.Context, b *scoreboard.Board, season *scoreboard.Span,
) (*scoreboard.Board, error) {
	return s.createBoard(ctx, b, season, nil, errDry)
}

func (s *Boards) createBoard(
	ctx context.Context, b *scoreboard.Board, season *scoreboard.Span, audit *scoreboard.AuditEntry, end error,
) (*scoreboard.Board, error) {
	var made *scoreboard.Board
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		team, err := checkTeam(ctx, tx, b)
		if err != nil {
			return err
		}
		minSubscore, maxSubscore := subscoreBounds(b)
		_, err = tx.Exec(
			ctx,
			`insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, min_score, max_score,
    public, region, period, time_zone, week_start, require_action_token, require_attestation, action_least_ms,
        action_life_ms, source_board, aggregate, best_of, moves, platform, tags, partitions, attempts, tiers,
    schedule, metadata, ties, league, join_required, late_join, max_players, subscore, min_subscore, max_subscore,
    appearance)
values ($1, $1, $2, $3, $4, $5, $6, $7, $8, nullif($9, ''), $10, $11, $12, $13, $14, $15, $16,
    nullif($17, ''), nullif($18, ''), nullif($19, 0), nullif($20, ''), nullif($21, ''), $22,
    $23, $24, $25, nullif($26, ''), nullif($27, ''), nullif($28, ''), $29, $30, $31, $32,
    nullif($33, ''), $34, $35, $36)`,
			b.ID,
			b.Mode,
			b.Order,
			b.MinDelta,
			b.MaxDelta,
			b.MinScore,
			b.MaxScore,
			b.Public,
			b.Region,
			b.Period,
			b.TimeZone,
			isoDay(b.WeekStart),
			b.Require.ActionToken,
			b.Require.Attestation,
			b.Require.MinActionTime.Milliseconds(),
			b.Require.ActionTTL.Milliseconds(),
			string(team.Source),
			string(team.Aggregate),
			team.Best,
			string(team.Moves),
			b.Platform,
			sortedTags(b.Tags),
			max(b.Partitions, 1),
			b.Attempts, tiersColumn(b.Tiers),
			b.Schedule,
			b.Metadata,
			b.Ties,
			b.League,
			b.Join.Required, b.Join.Late, b.Join.MaxPlayers,
			b.Subscore, minSubscore, maxSubscore,
			b.Appearance,
		)
		if pg.Code(err) == pg.UniqueViolation {
			return scoreboard.Errorf(wire.CodeConflict, "board %s already exists", b.ID)
		}
		if err != nil {
			return err
		}
		if err := pg.WriteAudit(ctx, tx, audit); err != nil {
			return err
		}
		if made, err = pg.FindBoard(ctx, tx, b.ID); err != nil {
			return err
		}
		if b.Period == scoreboard.PeriodNone {
			return end
		}
		if b.Period == scoreboard.PeriodSeason {
			first := *season
			if first.Start.IsZero() {
				first.Start = made.Created
			}
			return cmp.Or(makeInstance(ctx, tx, made, first), end)
		}
		_, err = makeAhead(ctx, tx, made)
		return cmp.Or(err, end)
	})
	if err != nil && !errors.Is(err, errDry) {
		return nil, pg.Translate(fmt.Errorf("create board %s: %w", b.ID, err))
	}
	return made, nil
}

// subscoreBounds returns the bounds of subscores as the columns have them: null without subscores.
func subscoreBounds(b *scoreboard.Board) (lowest, highest *scoreboard.Score) {
	if !b.HasSubscores() {
		return nil, nil
	}
	return &b.MinSubscore, &b.MaxSubscore
}

// isoDay is 1 for Monday to 7 for Sunday.
func isoDay(d time.Weekday) int { return (int(d)+6)%7 + 1 }
