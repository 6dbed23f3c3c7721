package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Whoever wants to be seen by fewer people can at any time: whatever limits of theirs, of their
// address and of their returns are used up. What shows them to more people, and repeats, which
// change nothing, count against the limits.
func TestHidingIsNeverLimited(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"of the user":    {"limit-updates-per-minute", "1"},
		"of the address": {"limit-address-per-minute", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			root := h.start(allRoles).client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
			pairs := []client.FriendPair{{UserID: "ada", FriendID: "bob"}}
			if _, err := root.ImportFriends(t.Context(), pairs); err != nil {
				t.Fatal(err)
			}
			backends.Connect(t, h.postgres).Do(t,
				`insert into friends (user_id, friend_user_id) values ('ada', 'carol')`) // carol has not answered
			n := h.start(allRoles, settings...)
			ada := bearer(h.token("ada", "", time.Hour))
			ask := func(method, path, body string) int {
				status, _, _ := request(t, method, n.URL+path, body, ada)
				return status
			}
			setting := func(to string) int {
				return ask(http.MethodPut, "/v1/users/ada/privacy", `{"visibility":"`+to+`"}`)
			}
			h.await("the limit", func() bool {
				return ask(http.MethodPut, "/v1/users/me/friends/nobody", "") == http.StatusTooManyRequests
			})
			for _, step := range []struct {
				what        string
				status, got int
			}{
				{"to the visibility that the user has", http.StatusTooManyRequests, setting("public")},
				{"to none", http.StatusTooManyRequests, setting("invisible")},
				{"to friends", http.StatusOK, setting("friends")},
				{"back to public", http.StatusTooManyRequests, setting("public")},
				{"to a pseudonym", http.StatusOK, setting("pseudonym")},
				{"off the boards", http.StatusOK, setting("private")},
				{"off the boards again", http.StatusTooManyRequests, setting("private")},
				{"back to a pseudonym", http.StatusTooManyRequests, setting("pseudonym")},
				{"ending a friendship", http.StatusOK, ask(http.MethodDelete, "/v1/users/me/friends/bob", "")},
				{"ending it again", http.StatusTooManyRequests, ask(http.MethodDelete, "/v1/users/me/friends/bob", "")},
				{"taking back a request", http.StatusOK, ask(http.MethodDelete, "/v1/users/me/friends/carol", "")},
				{
					"taking it back again", http.StatusTooManyRequests,
					ask(http.MethodDelete, "/v1/users/me/friends/carol", ""),
				},
				{"another's", http.StatusTooManyRequests, ask(http.MethodPut, "/v1/users/bob/privacy",
					`{"visibility":"private"}`)},
			} {
				if step.got != step.status {
					t.Errorf("%s: %d, want %d", step.what, step.got, step.status)
				}
			}
			wrong := http.Header{"Authorization": {"Bearer wrong"}}
			want := http.StatusUnauthorized
			if name == "of the address" {
				want = http.StatusTooManyRequests
			}
			status, _, _ := request(t, http.MethodPut, n.URL+"/v1/users/ada/privacy", `{"visibility":"private"}`, wrong)
			if status != want {
				t.Errorf("with a wrong token: %d, want %d", status, want)
			}
		})
	}
}
