package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Rewards stores the tables of rewards of periodic boards, and the grants of their winners.
type Rewards struct {
	db      *pg.DB
	claimed prometheus.Counter
}

// NewRewards returns a Rewards over db.
func NewRewards(db *pg.DB) *Rewards {
	return &Rewards{db, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "scoreboard_rewards_claimed_total", Help: "Rewards claimed; repeats of a claim are not counted.",
	})}
}

// Collectors returns the metrics to register.
func (s *Rewards) Collectors() []prometheus.Collector { return []prometheus.Collector{s.claimed} }

const (
	// Whoever sets a table or begins to grant locks this row: a table that was in force at the end of
	// a period is found, also if its transaction was running at that time.
	sqlLockRewards = `insert into reward_boards (board_id, granted_until) values ($1, clock_timestamp())
on conflict (board_id) do update set board_id = excluded.board_id`

	sqlAddTable = `insert into reward_tables (board_id, since, private, expires_seconds)
values ($1, clock_timestamp(), $2, $3) returning table_id, since`

	sqlAddBands = `insert into reward_bands (table_id, band, first_rank, last_rank, percent, tier, division, reward)
select $1, band, nullif(first, 0), nullif(last, 0), nullif(percent, 0), nullif(tier, ''), nullif(division, 0), reward
from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::smallint[], $7::text[])
    with ordinality as t(first, last, percent, tier, division, reward, band)`

	sqlTable = `select table_id, board_id, since, private, expires_seconds from reward_tables`

	sqlBands = `select coalesce(first_rank, 0), coalesce(last_rank, 0), coalesce(percent, 0), coalesce(tier, ''),
    coalesce(division, 0), reward
from reward_bands where table_id = $1 order by band`
)

// SetRewards replaces the table of a periodic board. Periods that end later grant by it.
func (s *Rewards) SetRewards(
	ctx context.Context, table *scoreboard.RewardTable, audit *scoreboard.AuditEntry,
) (set *scoreboard.RewardTable, err error) {
	stored := *table
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockForChange, table.Board); err != nil {
			return err
		}
		b, err := pg.FindBoard(ctx, tx, table.Board)
		if err != nil {
			return err
		}
		if err := checkRewarded(b, table); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlLockRewards, table.Board); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, sqlAddTable, table.Board, table.Private, int64(table.Expires/time.Second)).
			Scan(&stored.ID, &stored.Since)
		if err != nil {
			return err
		}
		stored.Since = stored.Since.UTC()
		n := len(table.Bands)
		first, last, percent := make([]int64, n), make([]int64, n), make([]int64, n)
		tiers, divisions, rewards := make([]string, n), make([]int, n), make([]string, n)
		for i := range table.Bands {
			b := &table.Bands[i]
			first[i], last[i], percent[i] = b.FirstRank, b.LastRank, b.Percent
			tiers[i], divisions[i], rewards[i] = b.Tier, b.Division, b.Reward
		}
		_, err = tx.Exec(ctx, sqlAddBands, stored.ID, first, last, percent, tiers, divisions, rewards)
		if err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("set the rewards of board %s: %w", table.Board, err))
	}
	return &stored, nil
}

// checkRewarded returns why a board cannot have a table.
func checkRewarded(b *scoreboard.Board, table *scoreboard.RewardTable) error {
	switch {
	case b.Status == scoreboard.StatusArchived:
		return scoreboard.Errorf(wire.CodeConflict, "board %s is archived", b.ID)
	case !b.IsFamily():
		return scoreboard.Invalid("board", "board %s has no periods, at the end of which there could be rewards", b.ID)
	}
	for i := range table.Bands {
		if tier := table.Bands[i].Tier; tier != "" && b.Tiers.Find(tier) < 0 {
			return scoreboard.Invalid("bands", "board %s has no tier %s", b.ID, tier)
		}
		division := table.Bands[i].Division
		if division != 0 && (b.League == nil || division > b.League.Divisions) {
			return scoreboard.Invalid("bands", "board %s has no division %d", b.ID, division)
		}
	}
	return nil
}

// Rewards returns the table of a board: of a period that has ended, that at its end; otherwise that of
// now. One without bands and Since says that there is none.
func (s *Rewards) Rewards(ctx context.Context, b *scoreboard.Board) (table *scoreboard.RewardTable, err error) {
	var end *time.Time
	if !b.PeriodEnd.IsZero() {
		end = &b.PeriodEnd
	}
	err = pgx.BeginTxFunc(ctx, s.db, pg.Snapshot, func(tx pgx.Tx) error {
		table, err = findTable(ctx, tx, sqlTable+` where board_id = $1 and since <= least($2, clock_timestamp())
order by since desc limit 1`, b.Family, end)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return &scoreboard.RewardTable{Board: b.Family, Expires: scoreboard.DefaultRewardExpiry}, nil
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the rewards of board %s: %w", b.ID, err))
	}
	return table, nil
}

// findTable reads a table and its bands, or returns pgx.ErrNoRows.
func findTable(ctx context.Context, q pg.Querier, sql string, args ...any) (*scoreboard.RewardTable, error) {
	t := &scoreboard.RewardTable{}
	var expires int64
	if err := q.QueryRow(ctx, sql, args...).Scan(&t.ID, &t.Board, &t.Since, &t.Private, &expires); err != nil {
		return nil, err
	}
	t.Since, t.Expires = t.Since.UTC(), time.Duration(expires)*time.Second
	rows, err := q.Query(ctx, sqlBands, t.ID)
	if err != nil {
		return nil, err
	}
	t.Bands, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (b scoreboard.RewardBand, err error) {
		err = row.Scan(&b.FirstRank, &b.LastRank, &b.Percent, &b.Tier, &b.Division, &b.Reward)
		return b, err
	})
	return t, err
}
