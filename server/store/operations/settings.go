package operations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Settings stores the settings shared by all processes.
type Settings struct{ db *pg.DB }

// NewSettings returns a Settings over db.
func NewSettings(db *pg.DB) *Settings { return &Settings{db} }

const settingColumns = `name, value, version, changed_at, changed_by`

func scanSetting(row pgx.CollectableRow) (k scoreboard.StoredSetting, err error) {
	err = row.Scan(&k.Name, &k.Value, &k.Version, &k.ChangedAt, &k.ChangedBy)
	k.ChangedAt = k.ChangedAt.UTC()
	return k, err
}

// StoredSettings returns the settings that operators have changed.
func (s *Settings) StoredSettings(ctx context.Context) ([]scoreboard.StoredSetting, error) {
	rows, err := s.db.Query(ctx, `select `+settingColumns+` from settings order by name`)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the settings: %w", err))
	}
	stored, err := pgx.CollectRows(rows, scanSetting)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the settings: %w", err))
	}
	return stored, nil
}

// ChangeSettings changes settings, all or none. check gets all values as they would
// be in force and can reject them. Changes are serialised, so that two that are
// valid alone but not together cannot both succeed. An unchanged setting is not
// written and gets no audit entry.
func (s *Settings) ChangeSettings(
	ctx context.Context,
	changes []scoreboard.SettingChange,
	check func([]scoreboard.StoredSetting) error,
) ([]scoreboard.StoredSetting, error) {
	var stored []scoreboard.StoredSetting
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('settings', 0))`); err != nil {
			return err
		}
		var changed []scoreboard.SettingChange
		for _, t := range changes {
			done, err := tx.Exec(ctx, `insert into settings (name, value, changed_by) select $1, $2, $3
where $2::text is distinct from (select value from settings where name = $1)
on conflict (name) do update set value = excluded.value, version = excluded.version, changed_at = excluded.changed_at,
    changed_by = excluded.changed_by`,
				t.Name, t.Value, t.Why.Actor)
			if err != nil {
				return err
			}
			if done.RowsAffected() > 0 {
				changed = append(changed, t)
			}
		}
		rows, err := tx.Query(ctx, `select `+settingColumns+` from settings order by name`)
		if err != nil {
			return err
		}
		if stored, err = pgx.CollectRows(rows, scanSetting); err != nil {
			return err
		}
		if err := check(stored); err != nil {
			return err
		}
		for _, t := range changed {
			if err := pg.WriteAudit(ctx, tx, t.Why); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("change %d settings: %w", len(changes), err))
	}
	return stored, nil
}
