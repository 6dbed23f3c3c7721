package upkeep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tablesContaining searches every table for a text, except system tables and the
// outbox, whose rows expire.
func (r *moderationRig) tablesContaining(t testing.TB, text string) string {
	t.Helper()
	rows, err := r.conn.Query(
		ctx,
		`select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    and relname not like 'outbox%' order by 1`,
	)
	if err != nil {
		t.Fatal(err)
	}
	var tables, found []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		if r.conn.Count(t, `select count(*) from `+name+` as t where position($1 in t::text) > 0`, text) > 0 {
			found = append(found, name)
		}
	}
	return strings.Join(found, " ")
}

func TestErasureRemovesTheNameAndKeepsSums(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	const user = scoreboard.UserID("very.private@example.com")
	for n := range 9 {
		var batch []scoreboard.Increment
		for i := range 500 {
			in := increment(user, 1, fmt.Sprintf("private-%d-%d", n, i), "7", "sum")
			in.Signer, in.Trace = string(user), "trace"
			batch = append(batch, in, increment("bob", 1, fmt.Sprintf("e%d-%d", n, i), "7", "sum"))
		}
		if _, err := r.Increments.Record(ctx, batch); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Increments.Record(
		ctx,
		[]scoreboard.Increment{increment(user, 9, "best", "7", "high"), increment(user, 4, "worse", "7", "high")},
	); err != nil {
		t.Fatal(err)
	}
	event, _ := scoreboard.ParseEventID(user, "best")
	if _, _, err := r.Corrections.Reverse(ctx, user, event, whole, why()); err != nil {
		t.Fatal(err)
	}
	if err := r.Increments.Reject(
		ctx,
		[]scoreboard.Increment{increment(user, 1, "refused", "7", "sum")},
		[]*scoreboard.Error{scoreboard.Errorf("gone", "%s", user)},
	); err != nil {
		t.Fatal(err)
	}
	letter := scoreboard.DeadLetter{
		Topic:  "t",
		Value:  []byte(`{"user_id":"` + string(user) + `","x":"` + "\xff" + `"}`),
		Reason: "r",
	}
	if err := r.DeadLetters.Add(ctx, &letter); err != nil {
		t.Fatal(err)
	}
	if err := r.Profiles.PutProfile(ctx, &scoreboard.Profile{User: user, DisplayName: "Priva Te"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Visibility.Put(ctx, user, scoreboard.VisibilityPrivate, nil); err != nil {
		t.Fatal(err)
	}
	because := func(action string) *scoreboard.AuditEntry {
		e := why()
		e.Action, e.Target = action, scoreboard.AuditUser(user)
		return e
	}
	if _, err := r.Moderation.Freeze(ctx, user, because("user.freeze")); err != nil {
		t.Fatal(err)
	}
	r.conn.Do(
		t,
		`insert into board_standings (board_id, rank, user_id, score, order_key, reached_at)
select board_id, 1, user_id, score, order_key, reached_at from scores
where user_id = $1 and board_id = 'sum'`,
		user,
	)
	r.conn.Do(t, `update boards set closed_at = clock_timestamp() where board_id = 'sum'`)
	r.conn.Do(t, `insert into rank_marks (board_id, user_id, best_rank, best_rank_at, days_in_top_10, last_rank,
    last_at)
values ('sum', $1, 1, clock_timestamp(), 0, 1, clock_timestamp())`, user)
	r.conn.Do(t, `insert into board_players values ('cup:one', $1, clock_timestamp())`, user)
	r.conn.Do(t, `insert into board_player_counts values ('cup:one', 3)`)
	lines, kinds := 0, map[string]int{}
	if err := r.Privacy.Export(ctx, user, func(kind string, row json.RawMessage) error {
		lines++
		kinds[kind]++
		if !json.Valid(row) {
			t.Errorf("invalid JSON: %s", row)
		}
		return nil
	}); err != nil {
		t.Errorf("exported %d lines: %v", lines, err)
	}
	for kind, want := range map[string]int{
		"user": 1, "profile": 1, "privacy": 1, "final_standing": 1, "score": 2, "event": 4503,
		"rejected_event": 1, "dead_letter": 1, "moderation": 1, "status": 1, "corrected_standing": 1,
		"private_period": 1, "rank_mark": 1, "tournament": 1,
	} {
		if kinds[kind] != want {
			t.Errorf("exported %d rows of kind %s, want %d", kinds[kind], kind, want)
		}
	}
	r.relay(t)
	due, at, err := r.PastBoards.Count(ctx, 1)
	if err != nil || len(due) == 0 {
		t.Fatalf("checkpoints of %v, %v", due, err)
	}
	for _, board := range due {
		if _, err := r.PastBoards.Make(ctx, board, at, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}

	anonymous, err := r.Privacy.BeginErasure(ctx, user, because("user.erase"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.Privacy.BeginErasure(ctx, user, because("user.erase"))
	if err != nil || again != anonymous {
		t.Errorf("a second begin: %q, %v, want %q", again, err, anonymous)
	}
	steps := 0
	for rows := int64(1); rows > 0; steps++ { // consistent after every step
		if rows, err = r.Privacy.EraseStep(ctx, user, anonymous); err != nil {
			t.Fatal(err)
		}
		r.relay(t)
		r.verify(t)
	}
	if steps < 4 {
		t.Errorf("%d steps, want several", steps)
	}
	if found := r.tablesContaining(t, string(user)); found != "profiles scores user_privacy users" {
		t.Errorf("the name is in %q, want tombstones only", found)
	}
	for _, text := range []string{"private-0-0", "Priva Te"} {
		if found := r.tablesContaining(t, text); found != "" {
			t.Errorf("%q is in %q", text, found)
		}
	}
	if n := r.conn.Count(
		t,
		`select count(*) from user_score_histories where user_id = $1 and (address is not null
or user_agent is not null or signer is not null)`,
		anonymous,
	); n != 0 {
		t.Errorf("%d rows with an address, an agent or a signer", n)
	}
	if n := r.conn.Count(t, `select sum(score)::bigint from scores where board_id = 'sum'`); n != 9000 {
		t.Errorf("the sum of the board is %d, want 9000", n)
	}
	if n := r.conn.Count(
		t,
		`select count(*) from audit_log where target = $1`,
		scoreboard.AuditUser(anonymous),
	); n != 2 {
		t.Errorf("%d audit entries, want the freeze and the erasure", n)
	}
	for what, err := range map[string]error{
		"a write": record(r, increment(user, 1, "late", "7", "sum")),
		"a reversal": func() error {
			_, _, err := r.Corrections.Reverse(ctx, user, event, whole, why())
			return err
		}(),
		"a ban": func() error { _, err := r.Moderation.Ban(ctx, user, why()); return err }(),
	} {
		if code := wire.CodeOf(
			err,
		); code != wire.CodeGone &&
			(what != "a reversal" || code != wire.CodeNotFound) {
			t.Errorf("%s of an erased user: %v, want gone", what, err)
		}
	}

	// After the retention the name is deleted, too.
	r.conn.Do(t, `update users set erased_at = erased_at - interval '31 days' where user_id = $1`, user)
	r.conn.Do(
		t,
		`update user_score_histories set recorded_at = recorded_at - interval '2 hours' where user_id = 'bob'
and version = 1`,
	)
	if err := r.worker().Cleanup(ctx); err != nil {
		t.Fatal(err)
	}
	if found := r.tablesContaining(t, string(user)); found != "" {
		t.Errorf("the name is in %q after the retention", found)
	}
	r.verify(t)
	if n := r.conn.Count(
		t,
		`select version from user_score_histories where user_id = 'bob' and address is null and user_agent is null`,
	); n != 1 {
		t.Errorf("the addresses of version %d are deleted, want only the old row", n)
	}
	if err := record(r, increment(user, 1, "again", "7", "sum")); err != nil {
		t.Errorf("a new user of the same name: %v", err)
	}
	r.checkAll(t)
}

func record(r *moderationRig, in scoreboard.Increment) error {
	out, err := r.Increments.Record(ctx, []scoreboard.Increment{in})
	if err != nil {
		return err
	}
	return out[0].Err
}

// personal maps every column that can name a person to what an erasure does with
// it. A new table must be added here, and to export and erasure.
var personal = map[string]string{
	"users.user_id":                   tombstone,
	"scores.user_id":                  tombstone,
	"profiles.user_id":                tombstone,
	"user_privacy.user_id":            tombstone,
	"profiles.display_name":           emptied,
	"profiles.avatar_url":             emptied,
	"user_score_histories.user_id":    anonymous,
	"user_score_histories.event_text": emptied,
	"user_score_histories.signer":     emptied,
	"user_score_histories.address":    emptied,
	"user_score_histories.user_agent": emptied,
	"user_score_histories.country":    emptied,
	"board_standings.user_id":         anonymous,
	"reversals.user_id":               anonymous,
	"checkpoint_users.user_id":        anonymous,
	"corrected_standings.user_id":     anonymous,
	"user_statuses.user_id":           removed,
	"private_users.user_id":           removed,
	"external_ids.user_id":            removed,
	"external_ids.external_id":        removed,
	"rank_marks.user_id":              removed,
	"checkpoint_blocks.users":         notPersonal,
	"checkpoints.users":               notPersonal,
	"void_events.user_id":             anonymous,
	"audit_log.target":                anonymous,
	"audit_seals.target_key":          emptied,
	"audit_seals.target_digest":       "says nothing without its key",
	"rejected_events.user_id":         removed,
	"rejected_events.message":         removed,
	"dead_letters.value":              removed,
	"dead_letters.reason":             removed,
	"used_action_tokens.user_id":      removed,
	"jobs.target":                     removed,
	"jobs.who":                        ofOperators,
	"jobs.reason":                     ofOperators,
	"flags.user_id":                   removed,
	"flags.event_text":                removed,
	"flags.detail":                    removed,
	"flags.reason":                    removed,
	"flags.decided_by":                removed,
	"outbox_score_updates.user_id":    "dropped with its partition",
	"standings.user_id":               tombstone,
	"standings_state.fill_user":       "set to null once the standings are filled",
	"import_scores.user_id":           removed,
	"friends.user_id":                 removed,
	"team_members.user_id":            removed,
	"friends.friend_user_id":          removed,
	"webhook_tops.users":              anonymous,
	"audit_log.detail":                "contains no user, by the API",
	"audit_log.who":                   ofOperators,
	"audit_log.address":               ofOperators,
	"audit_log.user_agent":            ofOperators,
	"audit_log.reason":                ofOperators,
	"voids.who":                       ofOperators,
	"voids.reason":                    ofOperators,
	"voids.address":                   ofOperators,
	"settings.changed_by":             ofOperators,
	"keys.name":                       ofOperators,
	"keys.user_prefix":                ofOperators,
	"settings.name":                   notPersonal,
	"settings.value":                  notPersonal,
	"job_runs.name":                   notPersonal,
	"leases.name":                     notPersonal,
	"retention.name":                  notPersonal,
	"reward_grants.user_id":           removed,
	"league_divisions.user_id":        removed,
	"league_members.user_id":          removed,
	"league_outcomes.user_id":         removed,
	"board_players.user_id":           removed,
	"boards.standings_users":          notPersonal,
	"imports.users":                   notPersonal,
	"webhook_deliveries.message_id":   notPersonal,
	"webhooks.disabled_reason":        notPersonal,
}

const (
	tombstone   = "kept for 30 days"
	emptied     = "set to null"
	anonymous   = "replaced by the anonymous name"
	removed     = "deleted with its row"
	ofOperators = "records operators' actions, and stays"
	notPersonal = "not personal"
)

func TestEveryPersonalColumnIsCovered(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	rows, err := r.conn.Query(
		ctx,
		`select c.relname || '.' || a.attname from pg_attribute as a join pg_class as c on c.oid = a.attrelid
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0
  and not a.attisdropped
  and a.attname ~ ('(user|who|by$|signer|address|agent|country|name|avatar|target|detail|message|value|reason|text'
    '|external)')
order by 1`,
	)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range columns {
		if personal[column] == "" {
			t.Errorf("%s may name a person: add it to personal, export and erasure", column)
		}
	}
	for column := range personal {
		if !slices.Contains(columns, column) {
			t.Errorf("no column %s", column)
		}
	}
}
