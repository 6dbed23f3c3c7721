package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// endings is the number of ended periods read at once.
const endings = 100

// EndedPeriods lists the periods that have ended, including the grace, and are not
// announced, in the order of their ends. A non-empty family restricts it.
func (s *Boards) EndedPeriods(ctx context.Context, family scoreboard.BoardID) ([]scoreboard.EndedPeriod, error) {
	rows, err := s.db.Query(ctx, `select coalesce(standings_users, 0), `+pg.BoardColumns+` from boards
where announced_at is null and period_end <= (select clock_timestamp() - $1::interval) and ($2 = '' or family_id = $2)
order by period_end, board_id limit $3`, s.closeGrace, family, endings)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find ended periods: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (e scoreboard.EndedPeriod, err error) {
		e.Board, err = pg.ScanBoard(r, &e.Users)
		return e, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find ended periods: %w", err))
	}
	return list, nil
}

// CloseBoard closes a period that has ended: when it returns, no write to it is
// running, and later ones are rejected. A frozen or archived board keeps its
// status.
func (s *Boards) CloseBoard(ctx context.Context, b *scoreboard.Board) error {
	err := s.exclusively(ctx, b.Family, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `update boards set closed_at = clock_timestamp(),
    status = case when status = 'active' then 'frozen' else status end
where board_id = $1 and closed_at is null and period_end <= clock_timestamp() - $2::interval`, b.ID, s.closeGrace)
		return err
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("close board %s: %w", b.ID, err))
	}
	return nil
}

// MarkAnnounced records that the end of a period was announced.
func (s *Boards) MarkAnnounced(ctx context.Context, id scoreboard.BoardID) error {
	_, err := s.db.Exec(
		ctx,
		`update boards set announced_at = clock_timestamp() where board_id = $1 and announced_at is null`,
		id,
	)
	if err != nil {
		return pg.Translate(fmt.Errorf("record the announcement of board %s: %w", id, err))
	}
	return nil
}

// BeginSeason creates a season of a family. If it begins now, the current season
// ends at the same instant. It returns a conflict if the name is taken or another
// season overlaps. A dry run changes nothing.
func (s *Boards) BeginSeason(
	ctx context.Context,
	family scoreboard.BoardID,
	season scoreboard.Span,
	dry bool,
	audit *scoreboard.AuditEntry,
) (ended *scoreboard.BoardID, err error) {
	b, err := s.FindBoard(ctx, family)
	if err != nil {
		return nil, err
	}
	if !b.IsFamily() || b.Period != scoreboard.PeriodSeason {
		return nil, scoreboard.Invalid("season", "board %s has no seasons", family)
	}
	if b.Status == scoreboard.StatusArchived {
		return nil, scoreboard.Errorf(wire.CodeConflict, "board %s is archived", family)
	}
	err = s.exclusively(ctx, family, func(tx pgx.Tx) error {
		if err := lockFamily(ctx, tx, family); err != nil {
			return err
		}
		ended = nil
		season := season // another attempt begins later
		if season.Start.IsZero() {
			if err := tx.QueryRow(ctx, `select clock_timestamp()`).Scan(&season.Start); err != nil {
				return err
			}
			if ended, err = endSeason(ctx, tx, family, season.Start); err != nil {
				return err
			}
		}
		var other scoreboard.BoardID
		err := tx.QueryRow(ctx, `select board_id from boards where family_id = $1 and period_end > $2
and period_start < $3 limit 1`,
			family, season.Start, season.End).
			Scan(&other)
		if err == nil {
			return scoreboard.Errorf(wire.CodeConflict, "the season overlaps %s", other)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := makeInstance(ctx, tx, b, season); err != nil {
			return err
		}
		if dry {
			return errDry
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil && !errors.Is(err, errDry) {
		return nil, pg.Translate(fmt.Errorf("start season %s of board %s: %w", season.Name, family, err))
	}
	return ended, nil
}

// errDry rolls a dry run back.
var errDry = errors.New("a dry run")

func endSeason(
	ctx context.Context,
	tx pgx.Tx,
	family scoreboard.BoardID,
	at time.Time,
) (ended *scoreboard.BoardID, err error) {
	err = tx.QueryRow(ctx, `update boards set period_end = $2
where family_id = $1 and period_start < $2 and period_end > $2 and closed_at is null
    returning board_id`, family, at).Scan(&ended)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no current season
	}
	return ended, err
}

// duePeriods returns the periods that sql finds, at most endings: board and seconds since its end.
func duePeriods(ctx context.Context, db *pg.DB, what, sql string) ([]scoreboard.DuePeriod, error) {
	rows, err := db.Query(ctx, sql, endings)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("%s: %w", what, err))
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d scoreboard.DuePeriod, err error) {
		var seconds float64
		err = row.Scan(&d.Board, &seconds)
		d.Since = time.Duration(seconds * float64(time.Second))
		return d, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("%s: %w", what, err))
	}
	return due, nil
}
