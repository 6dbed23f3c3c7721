package boards

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// In a statement of its own: the next one then sees an instance that was being created.
	sqlLockForChange = `select 1 from boards where board_id = $1 for no key update`

	sqlRequire = `update boards set require_action_token = $2, require_attestation = $3, action_least_ms = $4,
action_life_ms = $5
where family_id = $1 and status <> 'archived' and closed_at is null`

	sqlLabel = `update boards set region = nullif(coalesce($2, region), ''),
    platform = nullif(coalesce($3, platform), ''), tags = coalesce($4, tags)
where family_id = $1`

	// Standings of ended periods are shown as those of the current one.
	sqlSetMetadata = `update boards set metadata = nullif($2, '') where family_id = $1`

	// A null in $2 removes a field, and a field that $2 lacks stays.
	sqlSetAppearance = `update boards
set appearance = nullif(jsonb_strip_nulls(coalesce(appearance, '{}') || $2::jsonb), '{}')
where family_id = $1`

	sqlPartition = `update boards set partitions = $2
where family_id = $1 and status <> 'archived' and closed_at is null`

	// A period that has begun keeps its players: those who have played in an open one have not joined it.
	sqlSetJoin = `update boards set max_players = $3, late_join = $4, join_required = case
        when period_start <= clock_timestamp() then join_required else $2 end
where family_id = $1 and status <> 'archived' and closed_at is null`

	// The board itself has the version that its next instances get.
	sqlBound = `update boards set min_delta = $2, max_delta = $3, min_score = $4, max_score = $5, bounds_version = $6,
    attempts = $7, min_subscore = $8, max_subscore = $9
where family_id = $1 and status <> 'archived' and closed_at is null`
)

// ChangeBoard changes a board: its labels and appearance, with those of all its instances; its bounds, its tiers,
// the requirements of increments, who must join, and in how many partitions it is ranked, with those of its
// instances that have not ended. Bounds and requirements apply to every transaction that locks the
// board afterwards, the partitions from the next rebuild on, which is due then. For an archived board it
// returns a conflict.
func (s *Boards) ChangeBoard(
	ctx context.Context,
	id scoreboard.BoardID,
	change *scoreboard.BoardChange,
	audit *scoreboard.AuditEntry,
) (b *scoreboard.Board, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockForChange, id); err != nil {
			return err
		}
		if r := change.Require; r != nil {
			if err := checkUnruled(ctx, tx, id, r); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sqlRequire, id, r.ActionToken, r.Attestation, r.MinActionTime.Milliseconds(),
				r.ActionTTL.Milliseconds()); err != nil {
				return err
			}
		}
		if change.Region != nil || change.Platform != nil || change.Tags != nil {
			var tags []string // nil: unchanged
			if change.Tags != nil {
				tags = sortedTags(*change.Tags)
			}
			if _, err := tx.Exec(ctx, sqlLabel, id, change.Region, change.Platform, tags); err != nil {
				return err
			}
		}
		if change.Bounds != nil {
			if err := changeBounds(ctx, tx, id, change.Bounds); err != nil {
				return err
			}
		}
		if change.Join != nil {
			if err := changeJoin(ctx, tx, id, change.Join); err != nil {
				return err
			}
		}
		if change.Tiers != nil {
			if err := setTiers(ctx, tx, id, *change.Tiers); err != nil {
				return err
			}
		}
		if change.Metadata != nil {
			if _, err := tx.Exec(ctx, sqlSetMetadata, id, *change.Metadata); err != nil {
				return err
			}
		}
		if change.Appearance != nil {
			if _, err := tx.Exec(ctx, sqlSetAppearance, id, appearanceFields(change.Appearance)); err != nil {
				return err
			}
		}
		if change.Partitions != nil {
			if _, err := tx.Exec(ctx, sqlPartition, id, *change.Partitions); err != nil {
				return err
			}
		}
		if b, err = pg.FindBoard(ctx, tx, id); err == nil && b.Status == scoreboard.StatusArchived {
			err = scoreboard.Errorf(wire.CodeConflict, "board %s is archived", id)
		}
		if err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("change board %s: %w", id, err))
	}
	return b, nil
}

// changeBounds changes the bounds and the attempts of a board. Scores that are outside stay as they are.
func changeBounds(ctx context.Context, tx pgx.Tx, id scoreboard.BoardID, change *scoreboard.BoundsChange) error {
	b, err := pg.FindBoard(ctx, tx, id)
	if err != nil {
		return err
	}
	changed, err := change.Apply(b)
	if err != nil || !changed {
		return err
	}
	lowest, highest := subscoreBounds(b)
	_, err = tx.Exec(ctx, sqlBound, id, b.MinDelta, b.MaxDelta, b.MinScore, b.MaxScore, b.BoundsVersion+1, b.Attempts,
		lowest, highest)
	return err
}

// changeJoin changes who may submit to the periods of a board. Whoever has joined one stays.
func changeJoin(ctx context.Context, tx pgx.Tx, id scoreboard.BoardID, change *scoreboard.JoinChange) error {
	b, err := pg.FindBoard(ctx, tx, id)
	if err != nil {
		return err
	}
	if err := change.Apply(b); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlSetJoin, id, b.Join.Required, b.Join.MaxPlayers, b.Join.Late)
	return err
}

// appearanceFields returns what a change sets, by the names of the document; nil removes a field.
func appearanceFields(change *scoreboard.AppearanceChange) map[string]any {
	fields := make(map[string]any)
	for name, value := range map[string]*string{
		"title": change.Title, "description": change.Description, "color": change.Color, "image": change.Image,
	} {
		if value == nil {
			continue
		}
		fields[name] = nil
		if *value != "" {
			fields[name] = *value
		}
	}
	return fields
}

// sortedTags returns a sorted copy of tags, which is never nil.
func sortedTags(tags []string) []string {
	sorted := append([]string{}, tags...)
	slices.Sort(sorted)
	return sorted
}

// checkUnruled returns a conflict if requirements are for a board with a rule: increments
// that do not name it cannot meet its requirements.
func checkUnruled(ctx context.Context, tx pgx.Tx, id scoreboard.BoardID, r *scoreboard.Requirements) error {
	if !r.ActionToken && !r.Attestation {
		return nil
	}
	if _, err := tx.Exec(ctx, sqlLockRules); err != nil {
		return err
	}
	ruled, err := hasRule(ctx, tx, id)
	if err == nil && ruled {
		err = scoreboard.Errorf(wire.CodeConflict,
			"board %s has a rule; increments that match it do not name the board and cannot meet requirements", id)
	}
	return err
}
