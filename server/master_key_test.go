package server_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// made is what a node has made with its master key.
type made struct{ cursor, action, stream string }

func (n *node) issue(t *testing.T, user string) made {
	t.Helper()
	token := bearer(n.h.token(user, "", time.Hour))
	_, _, top := request(t, http.MethodGet, n.URL+"/v1/leaderboard/top?limit=1", "", token)
	_, _, answer := request(t, http.MethodPost, n.URL+"/delta/v1/leaderboard/ws-token", "", token)
	find := func(name, body string) string {
		t.Helper()
		found := regexp.MustCompile(`"` + name + `":"([^"]+)"`).FindStringSubmatch(body)
		if found == nil {
			t.Fatalf("no %s in %s", name, body)
		}
		return found[1]
	}
	return made{
		find("next_cursor", top), n.startAction(t, user, `{"board":"arena","action":"run"}`), find("token", answer),
	}
}

// check uses what another node has made for a user, whose increment key signs.
func (n *node) check(t *testing.T, when, user string, m made, key client.Key, valid bool) {
	t.Helper()
	token := n.h.token(user, "", time.Hour)
	want := func(what string, got, good, bad int) {
		t.Helper()
		if valid && got != good || !valid && got != bad {
			t.Errorf("%s: %s: got %d, want valid: %t", when, what, got, valid)
		}
	}
	page := n.URL + "/v1/leaderboard/top?limit=1&cursor=" + url.QueryEscape(m.cursor)
	status, _, _ := request(t, http.MethodGet, page, "", bearer(token))
	want("a cursor", status, http.StatusOK, http.StatusBadRequest)
	// Without an upgrade, a valid token gets as far as that.
	status, _, _ = request(t, http.MethodGet, n.URL+"/delta/v1/leaderboard/ws?token="+m.stream, "", nil)
	want("a stream token", status, http.StatusBadRequest, http.StatusUnauthorized)
	c, err := client.New(n.URL, client.Options{Token: token, KeyID: key.KeyID, KeySecret: key.Secret})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Submit(t.Context(), client.Increment{
		User: user, Delta: 1, Board: "arena", Action: "run", ActionToken: m.action,
	})
	if (err == nil) != valid {
		t.Errorf("%s: an action token and a key: got %v, want valid: %t", when, err, valid)
	}
}

// Two nodes change to another master key one by one. At every moment each accepts what the other
// makes, and what was made with the old key is accepted until that is removed. What must last does
// not depend on either: pseudonyms, and what imports have written.
func TestMasterKeyIsRotatedOnTwoNodes(t *testing.T) {
	t.Parallel()
	const old, other = backends.MasterKey, "1122334455667788990011223344556677889900112233445566778899001122"
	h := newHarness(t)
	h.settings["auth-signature"], h.settings["dialects"] = "required", "delta"
	start := func(keys string) *node { return h.start(allRoles, "auth-master-key", keys) }
	a, b := start(old), start(old)

	operator := func(n *node) *client.Client { return n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate) }
	key, err := operator(a).CreateKey(t.Context(), client.KeyRequest{Name: "game"})
	if err != nil {
		t.Fatal(err)
	}
	proven := client.BoardRequest{Board: "arena", Require: []string{"action-token"}}
	_, err = operator(a).CreateBoard(t.Context(), proven)
	if err != nil {
		t.Fatal(err)
	}
	imported, err := operator(a).StartImport(t.Context(), client.ImportRequest{Source: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	records := []client.ImportRecord{{UserID: "ada", Score: 50}, {UserID: "bob", Score: 40}, {UserID: "cy", Score: 30}}
	if _, err := operator(a).ImportRecords(t.Context(), imported.ImportID, records); err != nil {
		t.Fatal(err)
	}
	if _, err := operator(a).SetPrivacy(t.Context(), "ada", "pseudonym"); err != nil {
		t.Fatal(err)
	}
	pseudonym := func(n *node) (name string) {
		h.await("ada's pseudonym", func() bool {
			top, err := operator(n).Top(t.Context(), client.TopQuery{Limit: 3})
			if err != nil || len(top.Entries) < 3 {
				return false
			}
			eve := bearer(h.token("eve", "", time.Hour))
			_, _, body := request(t, http.MethodGet, n.URL+"/v1/leaderboard/top", "", eve)
			name = regexp.MustCompile(`~[a-z2-7]{16}`).FindString(body)
			return name != ""
		})
		return name
	}
	hidden := pseudonym(a)
	first, kept := a.issue(t, "u1"), a.issue(t, "u5")

	restart := func(n **node, keys string) {
		next := start(keys)
		(*n).stop()
		*n = next
	}
	cross := func(when string) {
		t.Helper()
		b.check(t, when+", a to b", "u2", a.issue(t, "u2"), key, true)
		a.check(t, when+", b to a", "u3", b.issue(t, "u3"), key, true)
	}
	restart(&a, old+","+other)
	cross("a knows both")
	restart(&b, old+","+other)
	restart(&a, other+","+old)
	cross("a signs with the new key")
	restart(&b, other+","+old)
	b.check(t, "made before", "u1", first, key, true)
	atLast := a.issue(t, "u4")

	r, err := operator(a).RotateMasterKey(t.Context())
	if err != nil || r.Encrypted != 1 || r.Unchanged != 0 || len(r.Unreadable) != 0 {
		t.Fatalf("got %+v, %v, want one secret encrypted again", r, err)
	}
	if r, err := operator(b).RotateMasterKey(t.Context()); err != nil || r.Encrypted != 0 || r.Unchanged != 1 {
		t.Fatalf("on the other node: got %+v, %v, want nothing left", r, err)
	}
	restart(&a, other)
	cross("a has the new key only")
	restart(&b, other)
	b.check(t, "with the new key only", "u4", atLast, key, true)
	b.check(t, "after the old key was removed", "u5", kept, key, false)

	if got := pseudonym(b); got != hidden {
		t.Errorf("the pseudonym was %s and is %s", hidden, got)
	}
	done, err := operator(b).ImportRecords(t.Context(), imported.ImportID, records)
	if err != nil || done.Written != 0 {
		t.Errorf("the import again: got %+v, %v, want nothing written", done, err)
	}
}
