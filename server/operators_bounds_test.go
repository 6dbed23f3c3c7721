package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// What others have seen cannot be taken back: an operator hides users, and only administrators
// and the users themselves show them to more people.
func TestOperatorsOnlyHideUsers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	user, operator := n.client("ada", ""), n.client("op", auth.ScopeOperate)
	admin := n.client("root", auth.ScopeAdmin)
	all := []string{"public", "friends", "pseudonym", "private"}
	may := map[string]string{
		"public": "public friends pseudonym private", "friends": "friends pseudonym private",
		"pseudonym": "pseudonym", "private": "private",
	}
	ctx := t.Context()
	for _, from := range all {
		for _, to := range all {
			if _, err := admin.SetPrivacy(ctx, "ada", from); err != nil {
				t.Fatal(err)
			}
			_, err := operator.SetPrivacy(ctx, "ada", to)
			if ok := strings.Contains(may[from], to); (err == nil) != ok || err != nil && !hasCode(err,
				wire.CodeForbidden) {
				t.Errorf("an operator from %s to %s: %v, want allowed %t", from, to, err, ok)
			}
		}
	}
	if _, err := user.SetPrivacy(ctx, "ada", "public"); err != nil {
		t.Error(err)
	}
}

func hasCode(err error, code wire.Code) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code == code
}

// A frozen user stays as operators found them: under the same name, and on the boards.
func TestFrozenUserKeepsNameAndBoards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	user, operator := n.client("ada", ""), n.client("op", auth.ScopeOperate)
	ctx := t.Context()
	rename := func(c *client.Client) error {
		_, err := c.PutProfile(ctx, "ada", client.Profile{DisplayName: "Ada L"})
		return err
	}
	show := func(c *client.Client, to string) error {
		_, err := c.SetPrivacy(ctx, "ada", to)
		return err
	}
	if err := errors.Join(rename(user), show(user, "private"), show(user, "public")); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Freeze(ctx, "ada", "test"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"rename": rename(user), "leave": show(user, "private")} {
		if !hasCode(err, wire.CodeForbidden) {
			t.Errorf("a frozen user can %s: %v", what, err)
		}
	}
	if err := errors.Join(show(user, "pseudonym"), rename(operator), show(operator, "pseudonym")); err != nil {
		t.Error(err)
	}
}

// The path of a webhook's address is a secret of its receiver: only administrators see it, and
// the audit trail has the host.
func TestWebhookAddressesAreMasked(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	admin, operator := n.client("root", auth.ScopeAdmin), n.client("op", auth.ScopeOperate)
	const address = "https://hooks.example/services/T0/secret?token=secret"
	ctx := t.Context()
	made, err := admin.CreateWebhook(ctx, client.WebhookRequest{
		URL: address, Types: []string{"season.closed"},
	})
	if err != nil || made.URL != address {
		t.Fatalf("got %+v, %v", made, err)
	}
	if _, err := operator.TestWebhook(ctx, made.WebhookID); err != nil {
		t.Fatal(err)
	}
	shown, err := operator.EnableWebhook(ctx, made.WebhookID)
	if err != nil || shown.URL != "https://hooks.example/********" {
		t.Errorf("enabled by an operator: %+v, %v", shown, err)
	}
	h.await("a delivery that fails", func() bool {
		list, err := operator.WebhookDeliveries(ctx, made.WebhookID, client.DeliveryQuery{})
		text, _ := json.Marshal(list)
		if err != nil || strings.Contains(string(text), "secret") {
			t.Fatalf("the deliveries are %s, %v", text, err)
		}
		return strings.Contains(string(text), `"problem":"`)
	})
	_, page, _ := newVisitor(t, n.Ops).signIn(h.token("op", auth.ScopeOperate, time.Hour)).get("/console/webhooks")
	if strings.Contains(page, "secret?") || strings.Contains(page, "/T0/") || !strings.Contains(page, "hooks.example") {
		t.Errorf("the console shows an operator %s", page)
	}
	for c, want := range map[*client.Client]string{admin: address, operator: "https://hooks.example/********"} {
		all, err := c.Webhooks(ctx)
		if err != nil || len(all) != 1 || all[0].URL != want {
			t.Errorf("got %+v, %v, want %s", all, err, want)
		}
	}
	trail, err := admin.Audit(ctx, client.AuditQuery{})
	if text, _ := json.Marshal(trail); err != nil || strings.Contains(string(text), "secret") ||
		!strings.Contains(string(text), "https://hooks.example/********") {
		t.Errorf("the trail has %s, %v", text, err)
	}
}

// The rule of a public board of teams does not tell which private board it reads.
func TestPrivateSourceOfTeamsIsHidden(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	root := n.client("root", auth.ScopeAdmin)
	ctx, no := t.Context(), false
	if _, err := root.CreateBoard(ctx, client.BoardRequest{Board: "secret-boss", Public: &no}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.CreateBoard(ctx, client.BoardRequest{
		Board: "clans", Team: &client.TeamRule{Source: "secret-boss", Aggregate: "sum", Moves: "with_points"},
	}); err != nil {
		t.Fatal(err)
	}
	for scope, seen := range map[string]bool{"": false, auth.ScopeOperate: true} {
		token := bearer(h.token("ada", scope, time.Hour))
		for _, path := range []string{"/v1/boards", "/v1/boards/clans"} {
			_, _, body := request(t, http.MethodGet, n.URL+path, "", token)
			if strings.Contains(body, "secret-boss") != seen || !strings.Contains(body, `"aggregate":"sum"`) {
				t.Errorf("%s with scope %q: %s", path, scope, body)
			}
		}
	}
}

// Metrics and profiles answer under names of this network only, so that a page whose name
// resolves here cannot read them.
func TestOperationsHosts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "ops-hosts", "metrics.example.com")
	get := func(path, host string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.Ops+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/symbol"} {
		for host, want := range map[string]int{
			"": http.StatusOK, "localhost:8081": http.StatusOK, "10.1.2.3:8081": http.StatusOK,
			"[::1]:8081":       http.StatusOK,
			"scoreboardd:8081": http.StatusOK, "a.b.svc.cluster.local": http.StatusOK,
			"metrics.example.com:8081":    http.StatusOK,
			"evil.example:8081":           http.StatusMisdirectedRequest,
			"127.0.0.1.evil.example":      http.StatusMisdirectedRequest,
			"localhost.evil.example:8081": http.StatusMisdirectedRequest,
		} {
			if status := get(path, host); status != want {
				t.Errorf("%s of %q: %d, want %d", path, host, status, want)
			}
		}
	}
	if status := get("/readyz", "evil.example"); status != http.StatusOK {
		t.Errorf("a health check under any name: %d", status)
	}
}
