package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// loopback lets nodes call receivers on this machine.
var loopback = []string{"webhooks-networks", "127.0.0.0/8"}

// received is a request to a receiver.
type received struct {
	id, body string
	header   http.Header
	message  struct {
		Type string `json:"type"`
		Data struct {
			Board  string `json:"board"`
			UserID string `json:"user_id"`
			Rank   int    `json:"rank"`
			Top    any    `json:"top"`
			Users  int    `json:"users"`

			Tier         string `json:"tier"`
			PreviousTier string `json:"previous_tier"`
		} `json:"data"`
	}
}

// receiver is a server that webhooks call.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	got    []received
	answer int    // status; 0 is 200
	after  string // Retry-After
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		m := received{id: q.Header.Get("Webhook-Id"), body: string(body), header: q.Header.Clone()}
		if err == nil {
			err = json.Unmarshal(body, &m.message)
		}
		if err != nil {
			t.Errorf("a message: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, m)
		if r.after != "" {
			w.Header().Set("Retry-After", r.after)
		}
		if r.answer != 0 {
			w.WriteHeader(r.answer)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = status
}

// all returns the messages of a type.
func (r *receiver) all(kind string) []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	var some []received
	for _, m := range r.got {
		if m.message.Type == kind {
			some = append(some, m)
		}
	}
	return some
}

func verify(t *testing.T, secret string, m *received) error {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return w.Verify([]byte(m.body), m.header) //nolint:wrapcheck // a test
}

// Two nodes send each cause once, signed.
func TestWebhookMessages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	settings := append(slices.Clone(loopback), "boards-close-grace", "1s")
	n := h.start(allRoles, settings...)
	h.start(allRoles, settings...)
	db := backends.Connect(t, h.postgres)
	root, game := n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	end := time.Now().Add(time.Hour).UTC()
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: &end,
	}); err != nil {
		t.Fatal(err)
	}
	// The first comparison only remembers who is in the top already.
	if _, err := game.Submit(t.Context(), client.Increment{User: "early", Board: "cup", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	h.await("early in the top", func() bool {
		top, err := game.Top(t.Context(), client.TopQuery{Board: "cup"})
		return err == nil && len(top.Entries) == 1 && !top.Degraded
	})
	r, other := newReceiver(t), newReceiver(t)
	hook, err := root.CreateWebhook(t.Context(), client.WebhookRequest{
		URL: r.URL, Types: []string{"season.closed", "user.flagged", "rank.reached"}, Boards: []string{"cup"}, Top: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.CreateWebhook(t.Context(), client.WebhookRequest{
		URL: other.URL, Types: []string{"season.closed", "user.flagged"}, Boards: []string{"global"},
	}); err != nil {
		t.Fatal(err)
	}
	h.await("the first comparison", func() bool { return db.Count(t, `select count(*) from webhook_tops`) == 1 })
	leaders := []string{"bob", "carol", "bob"}
	for i, user := range leaders {
		in := client.Increment{User: user, Board: "cup", Delta: int64(5 + 10*i)}
		if _, err := game.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		h.await("the lead of "+user, func() bool { return len(r.all("rank.reached")) == i+1 })
	}
	db.Do(t, `insert into flags (rule, mode, user_id, board_id, event_id, event_text, delta, detail)
values ('size', 'flag', 'mallory', 'cup:one', gen_random_uuid(), 'e', 1, 'a test')`)
	later := end.Add(time.Hour)
	if _, err := root.RollBoards(t.Context(), "cup", client.RollRequest{Season: "two", EndsAt: &later}); err != nil {
		t.Fatal(err)
	}
	h.await("the flag and the end of the season", func() bool {
		return len(r.all("user.flagged")) > 0 && len(r.all("season.closed")) > 0
	})
	// In the second season nobody was in the top before.
	if _, err := game.Submit(t.Context(), client.Increment{User: "dave", Board: "cup", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	h.await("the lead of dave", func() bool { return len(r.all("rank.reached")) == 4 })
	time.Sleep(1500 * time.Millisecond) // for what would be sent twice
	for i, m := range r.all("rank.reached") {
		want := slices.Concat(leaders, []string{"dave"})[i]
		if m.message.Data.UserID != want || m.message.Data.Rank != 1 {
			t.Errorf("reached rank %d: got %s, want %s at rank 1", i, m.body, want)
		}
	}
	if m := r.all("user.flagged"); len(m) != 1 || m[0].message.Data.UserID != "mallory" {
		t.Errorf("flags: got %+v, want mallory's, once", m)
	}
	closed := r.all("season.closed")
	if len(closed) != 1 || closed[0].message.Data.Board != "cup:one" || closed[0].message.Data.Users != 3 {
		t.Errorf("seasons: got %+v, want cup:one with 3 users, once", closed)
	}
	document, err := os.ReadFile("http/api/asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]bool)
	for _, m := range r.got {
		openapi.CheckMessage(t, document, []byte(m.body))
		if err := verify(t, hook.Secret, &m); err != nil || ids[m.id] {
			t.Errorf("%s: got %v and the id %s, want a valid signature and another id for each message",
				m.body, err, m.id)
		}
		ids[m.id] = true
	}
	if len(other.got) != 0 {
		t.Errorf("the webhook for another board: got %+v, want nothing", other.got)
	}
	if n := db.Count(t, `select count(*) from webhook_messages`); n != 0 {
		t.Errorf("%d messages are left in the outbox", n)
	}
}

// A message is repeated unchanged until it is accepted; a receiver that is gone disables
// the webhook.
func TestWebhookRetries(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, loopback...)
	root := n.client("root", auth.ScopeAdmin)
	r := newReceiver(t)
	hook, err := root.CreateWebhook(t.Context(), client.WebhookRequest{URL: r.URL, Types: []string{"user.flagged"}})
	if err != nil {
		t.Fatal(err)
	}
	r.answers(http.StatusInternalServerError)
	if _, err := root.TestWebhook(t.Context(), hook.WebhookID); err != nil {
		t.Fatal(err)
	}
	delivery := func() client.WebhookDelivery {
		page, err := root.WebhookDeliveries(t.Context(), hook.WebhookID, client.DeliveryQuery{})
		if err != nil || len(page.Deliveries) != 1 {
			t.Fatalf("got %+v, %v, want one delivery", page, err)
		}
		return page.Deliveries[0]
	}
	h.await("the first attempt to be stored", func() bool {
		return delivery().Status == http.StatusInternalServerError
	})
	if d := delivery(); d.State != "pending" || d.Attempts != 1 || d.NextAt == nil ||
		d.Problem != "the receiver answered 500" {
		t.Errorf("got %+v, want another attempt", d)
	}
	rotated, err := root.RotateWebhook(t.Context(), hook.WebhookID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r.answers(http.StatusFound) // redirects are not followed
	h.await("the second attempt", func() bool {
		return delivery().Attempts == 2 && delivery().Status == http.StatusFound
	})
	if _, err := root.RetryDelivery(t.Context(), hook.WebhookID, delivery().ID); err != nil {
		t.Fatal(err)
	}
	r.answers(http.StatusGone)
	h.await("the webhook to be disabled", func() bool {
		all, err := root.Webhooks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all[0].DisabledAt != nil && strings.Contains(all[0].Reason, "410")
	})
	if d := delivery(); d.State != "failed" {
		t.Errorf("got %+v, want a failed delivery", d)
	}
	r.answers(0)
	if _, err := root.EnableWebhook(t.Context(), hook.WebhookID); err != nil {
		t.Fatal(err)
	}
	if _, err := root.RetryDelivery(t.Context(), hook.WebhookID, delivery().ID); err != nil {
		t.Fatal(err)
	}
	h.await("the delivery", func() bool { return delivery().State == "delivered" })
	all := r.all("webhook.test")
	for i, m := range all {
		if m.id != all[0].id || m.body != all[0].body {
			t.Errorf("attempt %d: got %s %s, want the message of the first, %s %s",
				i, m.id, m.body, all[0].id, all[0].body)
		}
		if err := verify(t, hook.Secret, &m); err != nil {
			t.Errorf("attempt %d with the first secret: %v", i, err)
		}
		if err := verify(t, rotated.Secret, &m); (err == nil) != (i > 0) {
			t.Errorf("attempt %d with the second secret: got %v, want it from the second attempt on", i, err)
		}
	}
	if _, err := root.RotateWebhook(t.Context(), hook.WebhookID, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := root.TestWebhook(t.Context(), hook.WebhookID); err != nil {
		t.Fatal(err)
	}
	h.await("another message", func() bool { return len(r.all("webhook.test")) > len(all) })
	last := r.all("webhook.test")[len(all)]
	if verify(t, hook.Secret, &last) == nil || verify(t, rotated.Secret, &last) == nil {
		t.Error("a message is signed with a secret that was replaced without an overlap")
	}
}

// A receiver says in seconds or by a date when it wants the next attempt, and gets it within an hour.
func TestWebhookWaitsForItsReceiver(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	root := h.start(allRoles, loopback...).client("root", auth.ScopeAdmin)
	date := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		after    string
		min, max time.Duration
	}{
		"seconds":     {"600", 9 * time.Minute, 10 * time.Minute},
		"a date":      {date(20 * time.Minute), 19 * time.Minute, 20 * time.Minute},
		"a late date": {date(30 * time.Hour), 59 * time.Minute, time.Hour},
		"a past date": {date(-time.Hour), 0, time.Minute},
		"nonsense":    {"soon", 0, time.Minute},
	} {
		r := newReceiver(t)
		r.after = c.after
		r.answers(http.StatusServiceUnavailable)
		hook, err := root.CreateWebhook(t.Context(), client.WebhookRequest{URL: r.URL, Types: []string{"user.flagged"}})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := root.TestWebhook(t.Context(), hook.WebhookID); err != nil {
			t.Fatal(err)
		}
		var first client.WebhookDelivery
		h.await("the first attempt to be stored", func() bool {
			page, err := root.WebhookDeliveries(t.Context(), hook.WebhookID, client.DeliveryQuery{})
			if err != nil || len(page.Deliveries) != 1 {
				t.Fatalf("got %+v, %v, want one delivery", page, err)
			}
			first = page.Deliveries[0]
			return first.Status == http.StatusServiceUnavailable
		})
		if first.NextAt == nil {
			t.Fatalf("%s: no attempt follows: %+v", name, first)
		}
		if wait := first.NextAt.Sub(begun); wait < c.min || wait > c.max+time.Minute {
			t.Errorf("%s: Retry-After %s: the next attempt is %v later, want %v to %v", name, c.after, wait, c.min,
				c.max)
		}
	}
}

// After the master key was lost, a webhook works again once it has a new secret, also while the one that
// nobody can decrypt is still in force.
func TestWebhookAfterALostMasterKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, loopback...)
	r := newReceiver(t)
	hook, err := n.client("root", auth.ScopeAdmin).CreateWebhook(t.Context(),
		client.WebhookRequest{URL: r.URL, Types: []string{"user.flagged"}})
	if err != nil {
		t.Fatal(err)
	}
	n.stop()
	n = h.start(allRoles, append(slices.Clone(loopback), "auth-master-key",
		"1122334455667788990011223344556677889900112233445566778899001122")...)
	root := n.client("root", auth.ScopeAdmin)
	lost, err := root.RotateMasterKey(t.Context())
	if err != nil || !slices.Equal(lost.Unreadable, []string{hook.WebhookID}) {
		t.Fatalf("got %+v, %v, want the webhook named", lost, err)
	}
	rotated, err := root.RotateWebhook(t.Context(), hook.WebhookID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.TestWebhook(t.Context(), hook.WebhookID); err != nil {
		t.Fatal(err)
	}
	h.await("the message", func() bool { return len(r.all("webhook.test")) > 0 })
	if err := verify(t, rotated.Secret, &r.all("webhook.test")[0]); err != nil {
		t.Error(err)
	}
}

// A receiver that does not answer delays no other webhook; a private address is not called
// unless a network allows it.
func TestWebhookReceiversAreIndependent(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, loopback...)
	root := n.client("root", auth.ScopeAdmin)
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); hung.Close() })
	r := newReceiver(t)
	private := strings.Replace(r.URL, "127.0.0.1", "[::1]", 1)
	for _, address := range []string{
		private, "https://10.0.0.1/hook", "https://169.254.169.254/", "https://[fd00::1]/",
	} {
		_, err := root.CreateWebhook(t.Context(), client.WebhookRequest{URL: address, Types: []string{"user.flagged"}})
		if wire.CodeOf(err) != wire.CodeInvalidRequest ||
			!strings.Contains(err.Error(), "webhooks.networks") {
			t.Errorf("a webhook at %s: got %v, want invalid_request", address, err)
		}
	}
	db := backends.Connect(t, h.postgres)
	for _, address := range []string{hung.URL, r.URL, private} {
		hook, err := root.CreateWebhook(t.Context(),
			client.WebhookRequest{URL: r.URL, Types: []string{"user.flagged"}})
		if err != nil {
			t.Fatal(err)
		}
		// A name could resolve to the private address only later.
		db.Do(t, `update webhooks set url = $1 where webhook_id = $2`, address, hook.WebhookID)
		if _, err := root.TestWebhook(t.Context(), hook.WebhookID); err != nil {
			t.Fatal(err)
		}
		switch {
		case address == r.URL:
			h.await("the message", func() bool { return len(r.all("webhook.test")) == 1 })
		case strings.Contains(address, "::1"):
			h.await("the refusal", func() bool {
				page, err := root.WebhookDeliveries(t.Context(), hook.WebhookID, client.DeliveryQuery{State: "pending"})
				return err == nil && len(page.Deliveries) == 1 &&
					strings.Contains(page.Deliveries[0].Problem, "no network of webhooks.networks contains it")
			})
		}
	}
}

// What is sent after an erasure does not have the user's name.
func TestErasureReachesWebhooks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, loopback...)
	root, game := n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	db := backends.Connect(t, h.postgres)
	r := newReceiver(t)
	r.answers(http.StatusServiceUnavailable)
	if _, err := root.CreateWebhook(t.Context(), client.WebhookRequest{
		URL: r.URL, Types: []string{"rank.reached"}, Boards: []string{"global"}, Top: 1,
	}); err != nil {
		t.Fatal(err)
	}
	h.await("the first comparison", func() bool { return db.Count(t, `select count(*) from webhook_tops`) == 1 })
	if _, err := game.Submit(t.Context(), client.Increment{User: "alice", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	h.await("a failed attempt", func() bool { return len(r.all("rank.reached")) > 0 })
	if _, err := root.Erase(t.Context(), "alice", "asked for it"); err != nil {
		t.Fatal(err)
	}
	before := len(r.all("rank.reached"))
	r.answers(0)
	db.Do(t, `update webhook_deliveries set next_at = clock_timestamp() where state = 'pending'`)
	h.await("the delivery", func() bool {
		return db.Count(t, `select count(*) from webhook_deliveries where state = 'delivered'`) == 1
	})
	for _, m := range r.all("rank.reached")[before:] {
		if !strings.HasPrefix(m.message.Data.UserID, "erased-") {
			t.Errorf("after the erasure: got %s, want an anonymous user", m.body)
		}
	}
	if n := db.Count(t, `select count(*) from webhook_deliveries where payload like '%alice%'`); n != 0 {
		t.Errorf("%d deliveries have the erased name", n)
	}
}
