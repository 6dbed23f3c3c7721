package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Neither the pages of a tier nor the messages about tiers name a hidden user: those have a pseudonym,
// and private and banned users are in none.
func TestTiersHideUsers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, loopback...)
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ctx := t.Context()
	if _, err := root.CreateBoard(ctx, client.BoardRequest{
		Board: "arena", Tiers: []client.Tier{{Name: "gold", Score: new(int64(100))}, {Name: "all", Percentile: 100}},
	}); err != nil {
		t.Fatal(err)
	}
	const banned = "banned-6666"
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := root.Submit(ctx, client.Increment{User: user, Board: "arena", Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	introduce(t, root, "arena")
	submit(open, 60)
	submit(banned, 70)
	hideAll(t, n)
	if _, err := root.Ban(ctx, banned, "a test"); err != nil {
		t.Fatal(err)
	}
	page := func(tier string, limit string, token http.Header) string {
		t.Helper()
		status, _, body := request(t, http.MethodGet,
			n.URL+"/v1/leaderboard/top?board=arena&limit="+limit+"&tier="+tier, "", token)
		if status != http.StatusOK {
			t.Fatalf("a page of the tier %s: %d %s", tier, status, body)
		}
		return body
	}
	stranger := bearer(h.token("stranger", "", time.Hour))
	h.await("three users on the board", func() bool {
		body := page("all", "100", stranger)
		return strings.Contains(body, `"total":3`) && strings.Count(body, `"user_id":"~`) == 2
	})
	for _, user := range []string{"stranger", ally, veiled, guarded, absent} {
		for _, limit := range []string{"1", "2", "100"} {
			body := page("all", limit, bearer(h.token(user, "", time.Hour)))
			if named := namedIn(body); named != nil || strings.Contains(body, banned) {
				t.Errorf("%s sees %v in %s", user, named, body)
			}
		}
	}
	if body := page("all", "100", bearer(h.token("op", auth.ScopeOperate, time.Hour))); len(namedIn(body)) != 2 ||
		strings.Contains(body, absent) || strings.Contains(body, banned) {
		t.Errorf("an operator sees %s, want the two users with a pseudonym", body)
	}

	r := newReceiver(t)
	if _, err := root.CreateWebhook(ctx, client.WebhookRequest{
		URL: r.URL, Types: []string{"user.tier.updated"}, Boards: []string{"arena"},
	}); err != nil {
		t.Fatal(err)
	}
	// Somebody's moves until one is told of: those before the first pass are not.
	for i, told := 0, false; !told; i++ {
		if i == 100 {
			t.Fatal("no message")
		}
		submit("marker"+strings.Repeat("x", i), 200)
		time.Sleep(100 * time.Millisecond)
		told = len(r.all("user.tier.updated")) > 0
	}
	for _, user := range []string{veiled, guarded, absent, open} {
		submit(user, 100)
	}
	tellsOf := func(user string) bool {
		return slices.ContainsFunc(r.all("user.tier.updated"), func(m received) bool {
			return m.message.Data.UserID == user
		})
	}
	pseudonyms := func() (n int) {
		for _, m := range r.all("user.tier.updated") {
			if strings.HasPrefix(m.message.Data.UserID, "~") {
				n++
			}
		}
		return n
	}
	h.await("the messages", func() bool { return tellsOf(open) && pseudonyms() == 2 })
	submit("last", 200)
	h.await("the last message", func() bool { return tellsOf("last") })
	for _, m := range r.all("user.tier.updated") {
		if named := namedIn(m.body); named != nil || strings.Contains(m.body, banned) {
			t.Errorf("a message names %v: %s", named, m.body)
		}
	}
	if n := pseudonyms(); n != 2 {
		t.Errorf("%d messages have a pseudonym, want 2", n)
	}
}
