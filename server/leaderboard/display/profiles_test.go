package display_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/leaderboard/display"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func TestMain(m *testing.M) { backends.Main(m) }

var ctx = context.Background()

// counted is a store that counts look-ups.
type counted struct {
	display.ProfileSource
	lookups chan []scoreboard.UserID
}

func (c counted) Profiles(ctx context.Context, users []scoreboard.UserID) ([]scoreboard.Profile, error) {
	c.lookups <- users
	return c.ProfileSource.Profiles(ctx, users)
}

func open(t *testing.T) (*store.Store, counted, func() *display.Profiles) {
	t.Helper()
	s := storetest.Open(t, backends.Postgres(t, migrations.Up), func(o *store.Options) { o.MaxConns = 4 })
	c := counted{s.Profiles, make(chan []scoreboard.UserID, 1000)}
	return s, c, func() *display.Profiles {
		b := display.NewProfiles(c, slog.New(slog.DiscardHandler))
		backends.Run(t, b.Run)
		return b
	}
}

func put(t *testing.T, s *store.Store, user scoreboard.UserID, name string) {
	t.Helper()
	if err := s.Profiles.PutProfile(ctx, &scoreboard.Profile{User: user, DisplayName: name}, nil); err != nil {
		t.Fatal(err)
	}
}

// shows waits until the cache adds names, "" for none.
func shows(t *testing.T, b *display.Profiles, users []scoreboard.UserID, names ...string) {
	t.Helper()
	var rows []scoreboard.Entry
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		rows = make([]scoreboard.Entry, len(users))
		for i, u := range users {
			rows[i].User = u
		}
		b.Show(ctx, rows)
		same := true
		for i := range rows {
			got := ""
			if rows[i].Profile != nil {
				got = rows[i].Profile.DisplayName
			}
			same = same && got == names[i]
		}
		if same {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s %q are shown as %+v, want %q", users, rows, names)
		}
	}
}

func TestEveryNodeShowsAChange(t *testing.T) {
	t.Parallel()
	s, c, node := open(t)
	a, b := node(), node()
	users := []scoreboard.UserID{"alice", "bob"}
	shows(t, a, users, "", "")
	time.Sleep(1100 * time.Millisecond) // the cache has polled, without a result
	if n := len(c.lookups); n > 0 {
		t.Errorf("%d look-ups while no user has a profile", n)
	}
	put(t, s, "alice", "Alice")
	shows(t, a, users, "Alice", "")
	shows(t, b, users, "Alice", "")
	for len(c.lookups) > 0 {
		<-c.lookups
	}
	for range 100 {
		shows(t, a, users, "Alice", "")
	}
	if n := len(c.lookups); n > 0 {
		t.Errorf("%d look-ups of cached users", n)
	}
	put(t, s, "bob", "Bob")
	put(t, s, "alice", "")
	shows(t, a, users, "", "Bob")
	shows(t, b, users, "", "Bob")
	a.Put(&scoreboard.Profile{User: "alice", DisplayName: "Al", UpdatedAt: time.Now().Add(time.Hour)})
	rows := []scoreboard.Entry{{User: "alice"}, {User: "carol"}}
	a.ShowKnown(rows)
	if rows[0].Profile == nil || rows[0].Profile.DisplayName != "Al" || rows[1].Profile != nil {
		t.Errorf("the profile stored on this node is shown as %+v", rows)
	}
}

func TestBannedUserCannotSetName(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 2 })
	put(t, s, "mallory", "M")
	conn.Do(t, `update users set status = 'banned' where user_id = 'mallory'`)
	err := s.Profiles.PutProfile(ctx, &scoreboard.Profile{User: "mallory", DisplayName: "Alice"}, nil)
	found, readErr := s.Profiles.Profiles(ctx, []scoreboard.UserID{"mallory"})
	if wire.CodeOf(err) != wire.CodeForbidden || readErr != nil || len(found) != 1 ||
		found[0].DisplayName != "M" {
		t.Errorf("%v, and the profile is %+v (%v); want forbidden, and none changed", err, found, readErr)
	}
	root := &scoreboard.AuditEntry{Actor: "root", Action: "profile.put", Target: "user:mallory"}
	for _, c := range []struct {
		name string
		why  *scoreboard.AuditEntry
		code wire.Code
	}{
		{"", nil, wire.CodeForbidden},
		{"N", root, wire.CodeForbidden},
		{"", root, ""}, // an operator clears an offensive name
	} {
		err := s.Profiles.PutProfile(ctx, &scoreboard.Profile{User: "mallory", DisplayName: c.name}, c.why)
		if wire.CodeOf(err) != c.code && (err != nil || c.code != "") {
			t.Errorf("name %q by an operator %t: %v, want %q", c.name, c.why != nil, err, c.code)
		}
	}
	if found, err := s.Profiles.Profiles(ctx, []scoreboard.UserID{"mallory"}); err != nil || !found[0].Empty() {
		t.Errorf("the profile that an operator cleared is %+v, %v", found, err)
	}
}

// A name that is the id of another user whom everyone sees, in whatever case, is rejected. The
// user's own id, ids that nobody has, and those of users who are not seen are names like
// others: the response must not tell that such a user exists.
func TestNameOfAnotherUser(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 2 })
	conn.Do(t, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, public)
values ('private', 'private', 'increment', 'highest', 1, 100, false)`)
	conn.Do(t, `insert into users (user_id, status) values ('alice', 'active'), ('mallory', 'active'),
    ('frozen', 'frozen'),
    ('banned', 'banned'), ('erased', 'erased'), ('quiet', 'active'), ('private', 'active')`)
	conn.Do(t, `insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at,
    hidden)
select u, case u when 'private' then 'private' else 'global' end, 1, -1, 1, 1, clock_timestamp(),
    clock_timestamp(), u in ('banned', 'erased')
from unnest('{alice,mallory,frozen,banned,erased,private}'::text[]) as u`)
	for name, want := range map[string]wire.Code{
		"alice": wire.CodeInvalidRequest, "Alice": wire.CodeInvalidRequest,
		"ALICE": wire.CodeInvalidRequest, "\uff21lice": wire.CodeInvalidRequest,
		"frozen":  wire.CodeInvalidRequest,
		"mallory": "", "Mallory": "", "nobody": "", "Alice B": "",
		"banned": "", "erased": "", "quiet": "", "private": "",
	} {
		p := &scoreboard.Profile{User: "mallory", DisplayName: name}
		if err := p.Normalize(); err != nil {
			t.Fatal(err)
		}
		err := s.Profiles.PutProfile(ctx, p, nil)
		if got := wire.CodeOf(err); got != want || want == "" && err != nil {
			t.Errorf("%q: got %v, want code %q", name, err, want)
		}
	}
}

// A name that was stored before the user's erasure is not shown after it.
func TestErasedNameIsNotCachedAgain(t *testing.T) {
	t.Parallel()
	c := display.NewProfiles(nil, slog.New(slog.DiscardHandler))
	stored := time.Now()
	c.Put(&scoreboard.Profile{User: "alice", UpdatedAt: stored.Add(time.Second)})
	c.Put(&scoreboard.Profile{User: "alice", DisplayName: "Alice", UpdatedAt: stored})
	rows := []scoreboard.Entry{{User: "alice"}}
	c.ShowKnown(rows)
	if rows[0].Profile != nil {
		t.Errorf("got %+v, want no profile", rows[0].Profile)
	}
}
