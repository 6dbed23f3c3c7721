package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Clients over the limit get cached answers, but without users banned since: also on
// another node, as soon as the ban is answered.
func TestBannedUserNotServedFromCache(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.settings["limit-top-per-minute"], h.settings["limit-rank-per-minute"] = "1", "2"
	one, two := h.start(allRoles), h.start("read")
	root := one.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	for user, delta := range map[string]int64{"alice": 5, "mallory": 9, "bob": 7} {
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	h.await("a ranking", func() bool {
		top, err := root.Top(t.Context(), client.TopQuery{})
		return err == nil && !top.Degraded && len(top.Entries) == 3
	})
	carol := bearer(h.token("carol", "", time.Hour))
	tell := func(path string) (status int, answer string, late bool) {
		t.Helper()
		status, header, answer := request(t, http.MethodGet, two.URL+path, "", carol)
		return status, answer, header.Get("Retry-After") != ""
	}
	// Standings first: with a cached top they would come from it.
	paths := []string{"/v1/users/mallory/rank", "/v1/users/bob/rank?k=1", "/v1/leaderboard/top"}
	for _, often := range []bool{false, true} {
		for _, path := range paths {
			if status, answer, late := tell(path); status != http.StatusOK || late != often ||
				!strings.Contains(answer, "mallory") {
				t.Fatalf("%s before the ban: got %d %s, over the limit: %t, want mallory and %t", path, status, answer,
					late, often)
			}
		}
	}
	if _, err := root.Ban(t.Context(), "mallory", "a test"); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if status, answer, late := tell(path); !late || status == http.StatusOK && strings.Contains(answer, "mallory") {
			t.Errorf("%s after the ban: got %d %s, over the limit: %t", path, status, answer, late)
		}
	}
}
