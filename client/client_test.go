package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

func TestMain(m *testing.M) { instance.Main(m) }

func options(user string) client.Options {
	return client.Options{
		Token: instance.Token(user, "score:update score:admin"),
		KeyID: instance.KeyID, KeySecret: instance.Secret,
	}
}

func newClient(t *testing.T, s *instance.Server, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(s.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.ShortenTimeouts()
	// On a busy machine a stream is silent for a while, and what is sent while the client
	// reconnects is lost. Tests of silence set their own.
	c.SetSilence(time.Minute)
	return c
}

// soon waits for a condition.
func soon(t *testing.T, what string, is func() error) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		err := is()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	c := newClient(t, s, options("alice"))
	first, err := c.Submit(t.Context(), client.Increment{User: "alice", Delta: 5})
	if err != nil {
		t.Fatal(err)
	}
	// A busy machine may not have the rank in time; the receipt is then without it.
	if first.NewScore != 5 || first.Applied != 5 || first.Rank != nil && *first.Rank != 1 || first.Version != 1 ||
		first.ProcessedEventID == "" {
		t.Errorf("first receipt: got %+v", first)
	}
	again, err := c.Submit(t.Context(), client.Increment{User: "alice", Delta: 5, EventID: first.ProcessedEventID})
	if err != nil || !again.Replayed || again.NewScore != 5 {
		t.Errorf("the same event again: got %+v, %v, want the first receipt replayed", again, err)
	}
	boards, err := c.SubmitBoards(t.Context(), client.Increment{User: "alice", Delta: 2}, []string{"global"})
	if err != nil || len(boards) != 1 || boards[0].NewScore != 7 {
		t.Errorf("submit to boards: got %+v, %v, want one receipt with 7", boards, err)
	}
}

// A 202 has no receipt in it: the client waits for the outcome, whose receipts the
// server lists by the names of the boards.
func TestSubmitWaitsForQueuedIncrement(t *testing.T) {
	t.Parallel()
	s := instance.New(t, "roles", "api,intake,relay,projector,gateway,maintenance", "transport", "streams")
	c := newClient(t, s, options("game"))
	for _, b := range []client.BoardRequest{{Board: "zeta"}, {Board: "alpha", Period: "daily"}, {Board: "ruled"}} {
		if _, err := c.CreateBoard(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.SetBoardRule(t.Context(), "ruled", client.BoardRuleRequest{Regions: []string{"eu"}}); err != nil {
		t.Fatal(err)
	}
	names := func(receipts []client.Receipt) (boards []string) {
		for _, r := range receipts {
			if r.NewScore != 5 || r.Version != 1 || r.Status != wire.StatusDone {
				t.Errorf("got %+v, want a receipt of 5 points", r)
			}
			family, _, _ := strings.Cut(r.Board, ":")
			boards = append(boards, family)
		}
		return boards
	}

	boards := []string{"zeta", "alpha", "global"}
	s.Queue(1)
	receipts, err := c.SubmitBoards(t.Context(), client.Increment{User: "ada", Delta: 5, EventID: "queued-1"}, boards)
	if err != nil || !slices.Equal(names(receipts), boards) {
		t.Errorf("got receipts of %v, %v, want %v", names(receipts), err, boards)
	}
	s.Queue(1)
	receipt, err := c.Submit(t.Context(), client.Increment{
		User: "bob", Delta: 5, EventID: "queued-2", Attributes: map[string]string{"region": "eu"},
	})
	if got := names(append([]client.Receipt{receipt}, receipt.Matched...)); err != nil ||
		!slices.Equal(got, []string{"global", "ruled"}) {
		t.Errorf("got receipts of %v, %v, want global and ruled", got, err)
	}
	for _, id := range []string{"queued-1", "queued-2"} {
		if !slices.ContainsFunc(s.Seen(), func(r instance.Request) bool {
			return strings.HasPrefix(r.Path, "/v1/events/"+id)
		}) {
			t.Errorf("no look-up of %s: it was not queued", id)
		}
	}
}

func TestSubmitBatch(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	c := newClient(t, s, options("game"))
	s.Fail(1, 503, wire.CodeOverloaded, 0)
	ins := []client.Increment{{User: "alice", Delta: 5}, {User: "bob", Delta: 0}, {User: "alice", Delta: 2}}
	results, err := c.SubmitBatch(t.Context(), ins)
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Receipt.NewScore != 5 || results[2].Receipt.NewScore != 7 {
		t.Errorf("got %+v, want 5 and 7", results)
	}
	var e *client.Error
	if !errors.As(results[1].Err, &e) || e.Code != wire.CodeInvalidRequest || e.EventID != ins[1].EventID ||
		e.EventID == "" {
		t.Errorf("the bad item: got %+v, want invalid_request with its event id", results[1].Err)
	}
}

func TestPagesAndLists(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	c := newClient(t, s, options("alice"))
	for user, score := range map[string]int64{"alice": 5, "bob": 7, "carol": 3} {
		if _, err := c.Submit(t.Context(), client.Increment{User: user, Delta: score}); err != nil {
			t.Fatal(err)
		}
	}
	s.Shows(client.Entry{UserID: "alice", Score: 5}, client.Entry{UserID: "bob", Score: 7},
		client.Entry{UserID: "carol", Score: 3})
	first, err := c.Top(t.Context(), client.TopQuery{Limit: 2})
	if err != nil || len(first.Entries) != 2 || first.NextCursor == "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	second, err := c.Top(t.Context(), client.TopQuery{Limit: 2, Cursor: first.NextCursor})
	if err != nil || len(second.Entries) != 1 || second.Entries[0].UserID != "carol" || second.NextCursor != "" {
		t.Errorf("got %+v, %v", second, err)
	}
	list, err := c.Users(t.Context(), "", []string{"carol", "bob", "nobody"})
	if err != nil || len(list.Entries) != 2 || list.Entries[0].UserID != "bob" || list.Entries[1].ListRank != 2 ||
		list.Entries[1].Rank != 3 ||
		len(list.NotFound) != 1 {
		t.Errorf("got %+v, %v", list, err)
	}
	score := int64(6)
	_, err = c.Around(t.Context(), "nobody", client.PlaceQuery{Score: &score})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != wire.CodeNotFound || refused.WouldRank != 2 {
		t.Errorf("got %v, want that 6 would rank second", err)
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 9}, wire.Entry{UserID: "c@rol:1", Score: 7},
		wire.Entry{UserID: "bob", Score: 5})
	c := newClient(t, s, options("bob"))
	top, err := c.Top(t.Context(), client.TopQuery{Limit: 2})
	if err != nil || len(top.Entries) != 2 || top.Total != 3 || top.Entries[0].UserID != "alice" || top.Version == nil {
		t.Errorf("top: got %+v, %v", top, err)
	}
	me, err := c.Me(t.Context(), client.PlaceQuery{Neighbours: 1})
	if err != nil || me.Rank != 3 || len(me.Neighbours) != 2 {
		t.Errorf("me: got %+v, %v", me, err)
	}
	carol, err := c.Score(t.Context(), "c@rol:1", client.PlaceQuery{})
	if err != nil || carol.Rank != 2 || carol.Percentile != 33.3 {
		t.Errorf("score of c@rol:1: got %+v, %v", carol, err)
	}
	_, _ = c.Score(t.Context(), "..", client.PlaceQuery{}) // routers clean paths, so only the sent path matters
	if seen := slices.ContainsFunc(s.Seen(),
		func(r instance.Request) bool { return strings.HasPrefix(r.Path, "/v1/users/../score?") }); !seen {
		t.Error("the user id .. did not reach the server unchanged")
	}
	if _, err := c.Around(t.Context(), "carol",
		client.PlaceQuery{}); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("rank of an unknown user: got %v, want not_found", err)
	}
	s.StopRedis()
	if top, err := c.Top(t.Context(), client.TopQuery{}); err != nil || !top.Degraded || top.Version != nil {
		t.Errorf("degraded top: got %+v, %v", top, err)
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	c := newClient(t, s, options("alice"))
	if _, err := c.Submit(t.Context(),
		client.Increment{
			User: "bob", Delta: 3,
			EventID: "match/7",
		}); wire.CodeOf(err) != wire.CodeInvalidRequest {
		t.Errorf("an id with a slash: got %v, want invalid_request", err)
	}
	if _, err := c.Submit(t.Context(), client.Increment{User: "bob", Delta: 3, EventID: "match:7"}); err != nil {
		t.Fatal(err)
	}
	e, err := c.ReceiptOf(t.Context(), "bob", "match:7")
	if err != nil || e.Status != wire.StatusDone || len(e.Receipts) != 1 || e.Receipts[0].NewScore != 3 {
		t.Errorf("got %+v, %v, want bob's receipt", e, err)
	}
	if _, err := c.Receipt(t.Context(), "match:7"); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("another user's event: got %v, want not_found", err)
	}
}

func TestKeysAndTokens(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	c := newClient(t, s, options("root"))
	key, err := c.CreateKey(t.Context(), client.KeyRequest{Name: "game"})
	if err != nil || key.Secret == "" {
		t.Fatalf("create: got %+v, %v", key, err)
	}
	o := options("alice")
	o.KeyID, o.KeySecret = key.KeyID, key.Secret
	game := newClient(t, s, o)
	if _, err := game.Submit(t.Context(), client.Increment{User: "alice", Delta: 1}); err != nil {
		t.Errorf("submit with the new key: %v", err)
	}
	rotated, err := c.RotateKey(t.Context(), key.KeyID, time.Hour)
	if err != nil || rotated.Secret == key.Secret || rotated.Generation != 2 || rotated.RetiresAt == nil {
		t.Fatalf("rotate: got %+v, %v", rotated, err)
	}
	o.KeySecret = rotated.Secret
	// A node caches keys for a second, so changes take effect within that.
	for name, c := range map[string]*client.Client{"the former secret": game, "the new secret": newClient(t, s, o)} {
		soon(t, "submit with "+name, func() error {
			_, err := c.Submit(t.Context(), client.Increment{User: "alice", Delta: 1})
			return err
		})
	}
	if err := c.RevokeKey(t.Context(), key.KeyID); err != nil {
		t.Fatal(err)
	}
	soon(t, "the revoked key's rejection", func() error {
		_, err := game.Submit(t.Context(), client.Increment{User: "alice", Delta: 1})
		if wire.CodeOf(err) != wire.CodeInvalidSignature {
			return fmt.Errorf("got %w, want invalid_signature", err)
		}
		return nil
	})
	keys, err := c.Keys(t.Context())
	if err != nil || len(keys) != 2 || keys[1].RevokedAt == nil || keys[1].Secret != "" {
		t.Errorf("list: got %+v, %v", keys, err)
	}
	s.Fail(1, 503, wire.CodeUnavailable, 0)
	before := len(s.Seen())
	if _, err := c.CreateKey(t.Context(), client.KeyRequest{Name: "twice"}); err == nil || len(s.Seen())-before != 1 {
		t.Errorf("a failed create: got %v after %d tries, want 1", err, len(s.Seen())-before)
	}
	token, err := c.MintToken(t.Context(), client.TokenRequest{UserID: "bob", TTL: "5m"})
	if err != nil || time.Until(token.ExpiresAt) > 5*time.Minute {
		t.Errorf("mint: got %+v, %v", token, err)
	}
}

func TestRenewing(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	fetched := 0
	ttl := 10 * time.Second // short enough to be renewed
	o := options("")
	o.TokenSource = client.Renewing(func(context.Context) (string, time.Time, error) {
		fetched++
		return instance.Token("alice", ""), time.Now().Add(ttl), nil
	})
	c := newClient(t, s, o)
	for range 2 {
		if _, err := c.Top(t.Context(), client.TopQuery{}); err != nil {
			t.Fatal(err)
		}
	}
	ttl = time.Hour
	for range 2 {
		if _, err := c.Top(t.Context(), client.TopQuery{}); err != nil {
			t.Fatal(err)
		}
	}
	if fetched != 3 {
		t.Errorf("got %d fetches, want 3: two short-lived tokens, then a long-lived one", fetched)
	}
}

func TestNewRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:8080", "ftp://host", "http://", "http://%zz"} {
		if _, err := client.New(address, client.Options{}); err == nil {
			t.Errorf("New(%q): got no error", address)
		}
	}
	if _, err := client.New("http://host", client.Options{KeyID: "k1"}); err == nil {
		t.Error("a key without its secret: got no error")
	}
}
