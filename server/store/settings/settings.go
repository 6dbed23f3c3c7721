// Package settings keeps the settings that operators change at run time, and
// which transports each process supports.
package settings

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Settings is the settings of all processes.
type Settings struct{ db *pg.DB }

// New makes a Settings over db.
func New(db *pg.DB) *Settings { return &Settings{db} }

const settingColumns = `name, value, version, changed_at, changed_by`

func scanSetting(row pgx.CollectableRow) (k scoreboard.StoredSetting, err error) {
	err = row.Scan(&k.Name, &k.Value, &k.Version, &k.ChangedAt, &k.ChangedBy)
	k.ChangedAt = k.ChangedAt.UTC()
	return k, err
}

// StoredSettings returns what operators have turned.
func (s *Settings) StoredSettings(ctx context.Context) ([]scoreboard.StoredSetting, error) {
	rows, err := s.db.Query(ctx, `select `+settingColumns+` from knobs order by name`)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the knobs: %w", err))
	}
	knobs, err := pgx.CollectRows(rows, scanSetting)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the knobs: %w", err))
	}
	return knobs, nil
}

// ChangeSettings turns settings, all or none. check sees all that would be in force
// then, and what it refuses is not stored: they are turned one after the other,
// so that two which fit alone cannot meet. One that is so already stays as it
// is, and the trail hears nothing of it.
func (s *Settings) ChangeSettings(
	ctx context.Context,
	turns []scoreboard.SettingChange,
	check func([]scoreboard.StoredSetting) error,
) ([]scoreboard.StoredSetting, error) {
	var knobs []scoreboard.StoredSetting
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('knobs', 0))`); err != nil {
			return err
		}
		var turned []scoreboard.SettingChange
		for _, t := range turns {
			done, err := tx.Exec(ctx, `insert into knobs (name, value, changed_by) select $1, $2, $3
where $2::text is distinct from (select value from knobs where name = $1)
on conflict (name) do update set value = excluded.value, version = excluded.version, changed_at = excluded.changed_at, changed_by = excluded.changed_by`,
				t.Name, t.Value, t.Why.Who)
			if err != nil {
				return err
			}
			if done.RowsAffected() > 0 {
				turned = append(turned, t)
			}
		}
		rows, err := tx.Query(ctx, `select `+settingColumns+` from knobs order by name`)
		if err != nil {
			return err
		}
		if knobs, err = pgx.CollectRows(rows, scanSetting); err != nil {
			return err
		}
		if err := check(knobs); err != nil {
			return err
		}
		for _, t := range turned {
			if err := pg.WriteAudit(ctx, tx, t.Why); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("turn %d knobs: %w", len(turns), err))
	}
	return knobs, nil
}
