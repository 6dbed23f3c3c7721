package upkeep_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// whileErasing runs a write about a user while another transaction, which has erased the
// user, is not committed yet.
func (r *moderationRig) whileErasing(t *testing.T, user scoreboard.UserID, write func() error) error {
	t.Helper()
	tx, err := r.conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `insert into users (user_id, status, erased_as, erased_at)
values ($1, 'erased', 'erased-' || $1, clock_timestamp())
on conflict (user_id) do update set status = excluded.status, erased_as = excluded.erased_as,
    erased_at = excluded.erased_at`, user); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- write() }()
	time.Sleep(150 * time.Millisecond) // longer than the wait for a lock
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	return <-done
}

func rejected(user scoreboard.UserID) []scoreboard.Increment {
	in := increment(user, 1, "refused", "7", "sum")
	in.Accepted = time.Now()
	return []scoreboard.Increment{in}
}

var banned = []*scoreboard.Error{scoreboard.Errorf(wire.CodeForbidden, "banned")}

// What is written about a user at the moment of the erasure is deleted by it, or rejected.
func TestErasureWinsOverConcurrentWrites(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for _, user := range []scoreboard.UserID{"scored@example.com", "profile.only@example.com"} {
		if user == "scored@example.com" {
			if err := record(r, increment(user, 1, "e", "7", "sum")); err != nil {
				t.Fatal(err)
			}
		}
		err := r.whileErasing(t, user, func() error {
			return r.Profiles.PutProfile(ctx, &scoreboard.Profile{User: user, DisplayName: "Priva Te"}, nil)
		})
		if wire.CodeOf(err) != wire.CodeGone {
			t.Errorf("a profile of %s: %v, want gone", user, err)
		}
		if found := r.tablesContaining(t, "Priva Te"); found != "" {
			t.Errorf("the name of %s is in %q", user, found)
		}
	}
	for _, user := range []scoreboard.UserID{"scored@example.com", "rejected.only@example.com"} {
		if err := r.whileErasing(t, user, func() error {
			return r.Increments.Reject(ctx, rejected(user), banned)
		}); err != nil {
			t.Error(err)
		}
	}
	if found := r.tablesContaining(t, "banned"); found != "" {
		t.Errorf("a rejection of an erased user is in %q", found)
	}
	out, err := r.Increments.Known(ctx, []scoreboard.Increment{
		increment("scored@example.com", 1, "late", "7", "sum"), increment("bob", 1, "e", "7", "sum"),
	})
	if err != nil || wire.CodeOf(out[0].Err) != wire.CodeGone || out[1].Err != nil {
		t.Errorf("before an increment is accepted: got %+v, %v, want gone for the erased user", out, err)
	}
}

// A user may have left a profile, a flag or a rejected event, and no score.
func TestUserWithoutScore(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	traces := map[string]func(user scoreboard.UserID) error{
		"profile": func(user scoreboard.UserID) error {
			_, err := r.conn.Exec(ctx, `insert into profiles (user_id, display_name) values ($1, 'Priva Te')`, user)
			return err
		},
		"friend": func(user scoreboard.UserID) error {
			_, err := r.Friends.Ask(ctx, "somebody", user)
			return err
		},
		"flag": func(user scoreboard.UserID) error {
			_, err := r.conn.Exec(ctx, `insert into flags (rule, mode, user_id, board_id, event_id, event_text, delta,
detail) values ('travel', 'enforce', $1, 'sum', gen_random_uuid(), 'e', 1, 'DE')`, user)
			return err
		},
		"rejected_event": func(user scoreboard.UserID) error {
			return r.Increments.Reject(ctx, rejected(user), banned)
		},
		"dead_letter": func(user scoreboard.UserID) error {
			return r.DeadLetters.Add(ctx, &scoreboard.DeadLetter{
				Topic: string(user[:20]), Value: []byte(`{"user_id":"` + string(user) + `"}`), Reason: "r",
			})
		},
	}
	for kind, leave := range traces {
		erase, ban := scoreboard.UserID(kind+".erased@example.com"), scoreboard.UserID(kind+".banned@example.com")
		for _, user := range []scoreboard.UserID{erase, ban} {
			if err := leave(user); err != nil {
				t.Fatal(err)
			}
			if n := r.conn.Count(t, `select count(*) from users where user_id = $1`, user); n != 0 {
				t.Errorf("%s left a row of users", kind)
			}
		}
		if known, err := r.Privacy.Known(ctx, erase); err != nil || !known {
			t.Errorf("a user with a %s: known %t, %v", kind, known, err)
		}
		kinds := map[string]int{}
		if err := r.Privacy.Export(ctx, erase, func(kind string, _ json.RawMessage) error {
			kinds[kind]++
			return nil
		}); err != nil || kinds[kind] != 1 {
			t.Errorf("export of a user with a %s: %v, %v", kind, kinds, err)
		}
		if u, err := r.Moderation.Ban(ctx, ban, why()); err != nil || !u.Changed {
			t.Errorf("ban of a user with a %s: %+v, %v", kind, u, err)
		}
		if err := record(r, increment(ban, 1, "e", "7", "sum")); wire.CodeOf(err) != wire.CodeForbidden {
			t.Errorf("a banned user with a %s: %v, want forbidden", kind, err)
		}
		anonymous, err := r.Privacy.BeginErasure(ctx, erase, why())
		if err != nil {
			t.Errorf("erasure of a user with a %s: %v", kind, err)
			continue
		}
		if n, err := r.Privacy.EraseStep(ctx, erase, anonymous); n != 0 || err != nil {
			t.Errorf("an erasure without a score: %d, %v", n, err)
		}
		if found := r.tablesContaining(t, string(erase)); found != "users" && found != "profiles users" {
			t.Errorf("after the erasure of a user with a %s, the name is in %q", kind, found)
		}
	}
	for what, err := range map[string]error{
		"ban":    func() error { _, err := r.Moderation.Ban(ctx, "nobody", why()); return err }(),
		"erase":  func() error { _, err := r.Privacy.BeginErasure(ctx, "nobody", why()); return err }(),
		"export": r.Privacy.Export(ctx, "nobody", func(string, json.RawMessage) error { return nil }),
	} {
		if wire.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("%s of an unknown user: %v, want not_found", what, err)
		}
	}
	if found := r.tablesContaining(t, "nobody"); found != "" {
		t.Errorf("an unknown user is in %q", found)
	}
}

// Erasures that were interrupted are completed, however many others were not.
func TestInterruptedErasureIsCompleted(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	if err := record(r, increment("alice", 1, "e", "7", "sum")); err != nil {
		t.Fatal(err)
	}
	anonymous, err := r.Privacy.BeginErasure(ctx, "alice", why())
	if err != nil {
		t.Fatal(err)
	}
	r.conn.Do(t, `update users set erased_at = erased_at - interval '1 hour' where user_id = 'alice'`)
	r.conn.Do(t, `insert into users (user_id, status, erased_as, erased_at)
select 'gone-' || n, 'erased', 'erased-' || n, clock_timestamp() - interval '1 day' from generate_series(1, 150) as n`)
	if err := r.worker().Cleanup(ctx); err != nil {
		t.Fatal(err)
	}
	if n := r.conn.Count(t, `select count(*) from user_score_histories where user_id = $1`, anonymous); n != 1 {
		t.Errorf("%d rows have the anonymous name, want 1", n)
	}
}

// The name of an erased user is known for longer than an attestation or an increment
// accepted for later is valid: it would count for a new user of the same name.
func TestTombstoneOutlivesTokens(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for window := scoreboard.DefaultWindow; window <= scoreboard.MaxWindow; window++ {
		if err := record(r, increment("alice", 1, "e", "7", "sum")); err != nil {
			t.Fatal(err)
		}
		anonymous, err := r.Privacy.BeginErasure(ctx, "alice", why())
		if err != nil {
			t.Fatal(err)
		}
		for n := int64(1); n > 0; {
			if n, err = r.Privacy.EraseStep(ctx, "alice", anonymous); err != nil {
				t.Fatal(err)
			}
		}
		r.window = window
		for _, c := range []struct {
			age  time.Duration
			kept int64
		}{{window.Guaranteed() + 2*scoreboard.MaxClockSkew, 1}, {window.Tombstone() + time.Minute, 0}} {
			r.conn.Do(t, `update users set erased_at = clock_timestamp() - $1::interval where user_id = 'alice'`, c.age)
			if err := r.worker().Cleanup(ctx); err != nil {
				t.Fatal(err)
			}
			if n := r.conn.Count(t, `select count(*) from users where user_id = 'alice'`); n != c.kept {
				t.Errorf("window %d, %s after the erasure: %d tombstones, want %d", window, c.age, n, c.kept)
			}
		}
	}
}
