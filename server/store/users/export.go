package users

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// exported are the queries for a user's data, as rows of JSON.
var exported = []struct{ kind, sql string }{
	{"user", `select user_id, status, created_at from users where user_id = $1`},
	{"external_id", `select user_id, external_id, created_at from external_ids where user_id = $1`},
	{"profile", `select user_id, display_name, avatar_url, updated_at from profiles where user_id = $1`},
	// Without the key: it tells pseudonyms of the user from those of others.
	{"privacy", `select user_id, visibility, changed_at, returns from user_privacy where user_id = $1`},
	{"private_period", `select user_id, since, until from private_users where user_id = $1 order by since`},
	{"score", `select * from scores where user_id = $1`},
	{"final_standing", `select board_id, coalesce(shared_rank, rank) as rank, user_id, score, subscore, reached_at,
    encode(salt, 'hex') as salt, encode(leaf, 'hex') as leaf from board_standings
where user_id = $1 and board_id in (select board_id from boards where closed_at is not null)`},
	{"rank_mark", `select * from rank_marks where user_id = $1 order by board_id`},
	{
		"event",
		`select user_id, board_id, event_id, event_text, delta, applied, previous_score, new_score, subscore,
    previous_subscore, new_subscore, version, recorded_at,
    client_timestamp, source, action, key_id, signer, address, user_agent, country, metadata::json as metadata,
    exists (select from reversals r where r.user_id = h.user_id and r.event_id = h.event_id
        and r.internal = (h.source = 'admin')) as reversed
from user_score_histories h where user_id collate "POSIX" = $1 order by recorded_at`,
	},
	{
		"rejected_event",
		`select user_id, event_id, error_code, message, rejected_at from rejected_events where user_id = $1`,
	},
	{
		"dead_letter",
		`select topic, partition, record_offset, reason, buried_at as dead_lettered_at,
            encode(value, 'base64') as value from dead_letters
where position(convert_to('"user_id":"' || $1 || '"', 'UTF8') in value) > 0 order by id`,
	},
	{
		"flag",
		`select rule, mode, board_id, event_text, delta, detail, state, times, created_at from flags
where user_id = $1 order by id`,
	},
	{
		"reward",
		`select g.grant_id, g.board_id, g.user_id, g.rank, coalesce(g.reward, b.reward) as reward, g.granted_at,
    g.expires_at, g.claimed_at, g.revoked_at
from reward_grants g left join reward_bands b on b.table_id = g.table_id and b.band = g.band
where g.user_id = $1 order by g.grant_id`,
	},
	{"tournament", `select board_id, user_id, joined_at from board_players where user_id = $1 order by board_id`},
	{
		"league_division",
		`select board_id, user_id, division from league_divisions where user_id = $1 order by board_id`,
	},
	{
		"league_membership",
		`select m.board_id, m.user_id, m.cohort_id, c.division, m.fill, m.joined_at
from league_members m left join league_cohorts c using (cohort_id) where m.user_id = $1 order by m.joined_at`,
	},
	{
		"league_outcome",
		`select board_id, user_id, revision, cohort_id, rank, players, from_division, to_division, decided_at
from league_outcomes where user_id = $1 order by outcome_id`,
	},
	{
		"friend",
		`select user_id, friend_user_id, created_at from friends
where user_id = $1 or friend_user_id = $1 order by user_id, friend_user_id`,
	},
	{
		"team_membership",
		`select board_id, team, user_id, joined_at, joined_score, left_at, left_score from team_members
where user_id = $1 order by membership_id`,
	},
	{
		"import",
		`select i.source, i.board_id, s.score, s.subscore from import_scores s join imports i using (import_id)
where s.user_id = $1`,
	},
	{"status", `select user_id, status, at from user_statuses where user_id = $1 order by id`},
	{
		"corrected_standing",
		`select user_id, board_id, version, at, reached_at, empty from corrected_standings
where user_id = $1 order by board_id, version`,
	},
	{"moderation", `select at, action, reason, detail from audit_log where target = 'user:' || $1 order by id`},
}

// Known reports whether anything is stored about a user, be it a profile, a flag, a
// rejected event or a dead letter without a score.
func (p *Privacy) Known(ctx context.Context, user scoreboard.UserID) (bool, error) {
	found, err := known(ctx, p.db, user)
	if err != nil {
		return false, pg.Translate(fmt.Errorf("look up user %s: %w", user, err))
	}
	return found, nil
}

func known(ctx context.Context, q pg.Querier, user scoreboard.UserID) (found bool, err error) {
	err = q.QueryRow(ctx, `select exists (select from users where user_id = $1)`, user).Scan(&found)
	if err == nil && !found {
		found, err = pg.HasTraces(ctx, q, user)
	}
	return found, err
}

// Export calls do with everything that is stored about a user, as rows of JSON,
// from one snapshot; a not_found for an unknown user.
func (p *Privacy) Export(
	ctx context.Context,
	user scoreboard.UserID,
	do func(kind string, row json.RawMessage) error,
) error {
	err := pgx.BeginTxFunc(ctx, p.db, pg.Snapshot, func(tx pgx.Tx) error {
		if known, err := known(ctx, tx, user); err != nil || !known {
			if err == nil {
				err = pg.NoUser(user)
			}
			return err
		}
		for _, e := range exported {
			rows, err := tx.Query(ctx, `select row_to_json(t)::text from (`+e.sql+`) as t`, user)
			if err != nil {
				return err
			}
			err = pg.ForEach(rows, func() error {
				var row string
				if err := rows.Scan(&row); err != nil {
					return err
				}
				return do(e.kind, json.RawMessage(row))
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("export %s: %w", user, err))
	}
	return nil
}
