package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/migrations"
)

// Operator scripts share a real server on real backends; each has its own users.
func TestOperatorScripts(t *testing.T) {
	game := fixtures.Ed25519(t)
	url := startNode(t, backends.Postgres(t, migrations.Up), backends.Redis(t),
		"auth-attestation-jwks-url", game.URL, "auth-jwks-networks", "127.0.0.0/8",
		"boards-close-grace", "1s")
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/operate",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			setConnection(env, url, instance.Token("root", "score:update score:admin"))
			env.Setenv("AUDITOR", instance.Token("auditor", "score:update score:admin"))
			env.Setenv("READER", instance.Token("reader", ""))
			env.Setenv("MALLORY", instance.Token("mallory", ""))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "soon": soon, "field": field,
			"action": action(t), "attest": attest(t, game),
		},
	})
}

// soon TEXT COMMAND… repeats a command until its output contains the text.
func soon(ts *testscript.TestScript, not bool, args []string) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		out := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if strings.Contains(out, args[0]) != not {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("timed out waiting for %q from %v; output %q, %v", args[0], args[1:], out, err)
		}
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() error) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := is()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s: %v", what, err)
		}
	}
}

func newClient(t *testing.T, url, user, scope string) *client.Client {
	t.Helper()
	c, err := client.New(url, client.Options{
		Token: instance.Token(user, scope), KeyID: instance.KeyID, KeySecret: instance.Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A setting changed on one node takes effect on the other.
func TestSettingChangesOnEveryNode(t *testing.T) {
	t.Parallel()
	postgres, redis := backends.Postgres(t, migrations.Up), backends.Redis(t)
	one, two := startNode(t, postgres, redis), startNode(t, postgres, redis, "roles", "api,gateway")
	here, there := newClient(t, one, "root", "score:admin"), newClient(t, two, "alice", "")
	ctx := t.Context()
	change := func(name, value string) time.Time {
		t.Helper()
		if _, err := here.ChangeSetting(ctx, name, client.SettingRequest{Value: &value, Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
		return time.Now()
	}
	submit := func() error {
		_, err := there.Submit(ctx, client.Increment{User: "alice", Delta: 5})
		return err
	}
	if err := submit(); err != nil {
		t.Fatal(err)
	}
	refused := func() error {
		if err := submit(); wire.CodeOf(err) != wire.CodeDeltaOutOfRange {
			return fmt.Errorf("submitting 5: %w", err)
		}
		return nil
	}
	changeAndWait := func(limit string, is func() error) time.Duration {
		t.Helper()
		at := change("ingest.max_delta", limit)
		eventually(t, "the other node to accept at most "+limit, is)
		return time.Since(at)
	}
	changeAndWait("4", refused)
	// The other node has just read the settings, so the next change takes the full
	// interval. A stalled machine gets another try.
	const reach = 2 * time.Second
	quickest := time.Hour
	for try := 0; try < 3 && quickest > reach; try++ {
		quickest = min(quickest, changeAndWait("1000", submit), changeAndWait("4", refused))
	}
	if t.Logf("effective on the other node after %s", quickest.Round(time.Millisecond)); quickest > reach {
		t.Errorf("a setting is effective on the other node after %s, want at most %s", quickest, reach)
	}
	changeAndWait("1000", submit)

	watching, stop := context.WithCancel(ctx)
	defer stop()
	seen := map[client.Connection]bool{}
	var mu sync.Mutex
	var watch sync.WaitGroup
	watch.Go(func() {
		for state := range there.Watch(watching, "", client.WatchOptions{}) {
			mu.Lock()
			seen[state.Connection] = true
			mu.Unlock()
		}
	})
	saw := func(c client.Connection) func() error {
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			if !seen[c] {
				return fmt.Errorf("seen %v", seen)
			}
			return nil
		}
	}
	eventually(t, "a stream", saw(client.WebSocket))
	change("realtime.enabled", "false")
	eventually(t, "a client that polls instead", saw(client.Polling))
	mu.Lock()
	clear(seen)
	mu.Unlock()
	change("realtime.enabled", "true")
	eventually(t, "a stream again", saw(client.WebSocket))
	stop()
	watch.Wait()
}

// startNode runs a node without limits and with a ledger archive, and returns the
// URL of its API.
func startNode(t *testing.T, postgres, redis string, settings ...string) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "archive")
	settings = append(settings, "limit-updates-per-minute", "0", "ledger-archive", archive)
	n := instance.StartNode(t, postgres, redis, settings...)
	n.CreateKey(t)
	return n.URL
}

// A ban removes a user from an open stream, and an unban restores the rank.
func TestBanOnAnOpenStream(t *testing.T) {
	t.Parallel()
	// The relay polls once a second, so a response that did not wait for it would be
	// noticeably early.
	url := startNode(t, backends.Postgres(t, migrations.Up), backends.Redis(t), "outbox-poll", "1s")
	root, mallory := newClient(t, url, "root", "score:admin score:update"), newClient(t, url, "mallory", "")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, user := range []string{"mallory", "alice"} { // a tie: mallory was first
		if _, err := root.Submit(ctx, client.Increment{User: user, Delta: 7}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var shown string
	var watch sync.WaitGroup
	watch.Go(func() {
		for state := range root.Watch(ctx, "", client.WatchOptions{}) {
			mu.Lock()
			shown = ""
			for _, e := range state.Entries {
				shown += fmt.Sprintf("%d %s %d, ", e.Rank, e.UserID, e.Score)
			}
			mu.Unlock()
		}
	})
	shows := func(want string) {
		t.Helper()
		eventually(t, want, func() error {
			mu.Lock()
			defer mu.Unlock()
			if shown != want {
				return fmt.Errorf("the stream shows %q", shown)
			}
			return nil
		})
	}
	shows("1 mallory 7, 2 alice 7, ")
	state, err := root.Ban(ctx, "mallory", "forged")
	if err != nil || state.Pending {
		t.Fatalf("got %+v, %v, want the response after the change is visible", state, err)
	}
	// No wait: after the response the user must not be on the board.
	if top, err := root.Top(ctx, client.TopQuery{}); err != nil || len(top.Entries) != 1 ||
		top.Entries[0].UserID != "alice" {
		t.Errorf("right after the ban the board is %+v, %v", top.Entries, err)
	}
	shows("1 alice 7, ")
	eventually(t, "the user's own place to be forbidden", func() error {
		if _, err := mallory.Me(ctx, client.PlaceQuery{}); wire.CodeOf(err) != wire.CodeForbidden {
			return fmt.Errorf("me: %w", err)
		}
		return nil
	})
	if _, err := root.Score(ctx, "mallory", client.PlaceQuery{}); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("the place for others: %v, want not_found", err)
	}
	if _, err := root.Unban(ctx, "mallory", "a mistake"); err != nil {
		t.Fatal(err)
	}
	shows("1 mallory 7, 2 alice 7, ")
	stop()
	watch.Wait()
}
