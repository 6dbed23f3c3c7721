package server_test

import (
	"bufio"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Users become friends on one node and are ranked among friends on another.
func TestFriends(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, two := h.start(allRoles), h.start("api,read,gateway")
	root := one.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	scores := map[string]int64{"ada": 5, "bob": 9, "carol": 7, "dan": 8}
	for user, delta := range scores {
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	ada, bob := one.client("ada", ""), two.client("bob", "")
	if f, err := ada.AskFriend(t.Context(), "bob"); err != nil || f.State != "requested" || f.Since == nil {
		t.Errorf("a request: %+v, %v", f, err)
	}
	if page, err := bob.Friends(t.Context(), client.FriendsQuery{State: "received"}); err != nil ||
		len(page.Friends) != 1 || page.Friends[0].UserID != "ada" {
		t.Errorf("bob received %+v, %v, want ada's request", page, err)
	}
	order := func(c *client.Client) (text string) {
		t.Helper()
		list, err := c.FriendsTop(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Entries {
			text += fmt.Sprintf("%d. %s #%d ", e.ListRank, e.UserID, e.Rank)
		}
		return text + strings.Join(list.NotFound, " ")
	}
	h.await("everyone in the ranking", func() bool {
		top, err := root.Top(t.Context(), client.TopQuery{})
		return err == nil && !top.Degraded && len(top.Entries) == 4
	})
	if got := order(two.client("ada", "")); got != "1. ada #4 " {
		t.Errorf("before bob accepts, ada sees %q", got)
	}
	if f, err := bob.AskFriend(t.Context(), "ada"); err != nil || f.State != "mutual" {
		t.Errorf("the answer: %+v, %v, want mutual", f, err)
	}
	if done, err := root.ImportFriends(t.Context(), []client.FriendPair{
		{UserID: "ada", FriendID: "dan"}, {UserID: "nobody", FriendID: "ada"}, {UserID: "bob", FriendID: "ada"},
	}); err != nil || done.Pairs != 3 || done.Added != 2 {
		t.Errorf("the import: %+v, %v, want 2 of 3 new", done, err)
	}
	for _, n := range []*node{one, two} {
		if got := order(n.client("ada", "")); got != "1. bob #1 2. dan #2 3. ada #4 nobody" {
			t.Errorf("ada sees %q", got)
		}
	}
	live := openFriends(t, two, h.token("ada", "", time.Hour))
	live.await(`"list_rank":1,"rank":1,"user_id":"bob","score":9`)
	if _, err := root.Submit(t.Context(), client.Increment{User: "ada", Delta: 100}); err != nil {
		t.Fatal(err)
	}
	live.await(`"list_rank":1,"rank":1,"user_id":"ada","score":105`)
	if _, err := root.Submit(t.Context(), client.Increment{User: "bob", Delta: 1000}); err != nil {
		t.Fatal(err)
	}
	live.await(`"list_rank":2,"rank":2,"user_id":"ada","score":105`)
	first, err := ada.Friends(t.Context(), client.FriendsQuery{Limit: 2})
	if err != nil || len(first.Friends) != 2 || first.NextAfter != "dan" {
		t.Errorf("the first page: %+v, %v", first, err)
	}
	if page, err := ada.Friends(t.Context(), client.FriendsQuery{After: first.NextAfter}); err != nil ||
		len(page.Friends) != 1 || page.Friends[0].UserID != "nobody" || page.NextAfter != "" {
		t.Errorf("the last page: %+v, %v", page, err)
	}
	if _, err := root.Ban(t.Context(), "dan", "a test"); err != nil {
		t.Fatal(err)
	}
	if got := order(two.client("ada", "")); got != "1. bob #1 2. ada #2 dan nobody" {
		t.Errorf("after the ban of dan, ada sees %q", got)
	}
	if f, err := bob.RemoveFriend(t.Context(), "ada"); err != nil || f.State != "none" || f.Since != nil {
		t.Errorf("the removal: %+v, %v", f, err)
	}
	if got := order(ada); got != "1. ada #2 dan nobody" {
		t.Errorf("after bob left, ada sees %q", got)
	}
}

// friendsStream is an event stream with the friends of its user, or with another list.
type friendsStream struct {
	t     *testing.T
	kind  string // of the messages with the list
	lines *bufio.Scanner
}

func openFriends(t *testing.T, n *node, token string) *friendsStream {
	t.Helper()
	return openList(t, n, token, "friends=1", "user.friends.updated")
}

func openList(t *testing.T, n *node, token, query, kind string) *friendsStream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL+"/v1/realtime/leaderboard?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(token)
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the stream with %s: got %s", query, res.Status)
	}
	return &friendsStream{t, kind, bufio.NewScanner(res.Body)}
}

// await reads up to a list that contains a text.
func (s *friendsStream) await(text string) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		if strings.HasPrefix(line, `data: {"type":"`+s.kind+`"`) && strings.Contains(line, text) {
			return
		}
	}
	s.t.Fatalf("the stream ended before a list with %s: %v", text, s.lines.Err())
}

func TestFriendRequestsThatAreRejected(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "secret", Public: new(false)}); err != nil {
		t.Fatal(err)
	}
	ada := bearer(h.token("ada", "", time.Hour))
	server := bearer(h.token("game", auth.ScopeUpdate, time.Hour))
	long := strings.Repeat("u", scoreboard.MaxUserIDLength+1)
	tooMany := `{"pairs":[` + strings.TrimSuffix(strings.Repeat(`{"user_id":"a","friend_id":"b"},`, 501), ",") + `]}`
	for _, c := range []struct {
		method, path, body string
		token              http.Header
		status             int
		says               string
	}{
		{"PUT", "/v1/users/me/friends/ada", "", ada, 400, "another user"},
		{"PUT", "/v1/users/me/friends/me", "", ada, 400, "stands for the token's user"},
		{"PUT", "/v1/users/me/friends/" + long, "", ada, 400, "user_id must be"},
		{"PUT", "/v1/users/me/friends/bob", `{"x":1}`, ada, 400, "expected JSON"},
		{"DELETE", "/v1/users/me/friends/ada", "", ada, 400, "another user"},
		{"PUT", "/v1/users/me/friends/bob", "", nil, 401, ""},
		{"GET", "/v1/users/me/friends?state=all", "", ada, 400, "mutual, requested or received"},
		{"GET", "/v1/users/me/friends?limit=501", "", ada, 400, "1 to 500"},
		{"GET", "/v1/users/me/friends?after=%2B", "", ada, 400, "next_after"},
		{"GET", "/v1/leaderboard/friends?board=secret", "", ada, 404, ""},
		{"GET", "/v1/leaderboard/friends?board=none", "", ada, 404, ""},
		{"GET", "/v1/leaderboard/friends", "", nil, 401, ""},
		{"GET", "/v1/realtime/leaderboard?friends=2", "", ada, 400, "0 or 1"},
		{"POST", "/v1/friends", `{"pairs":[{"user_id":"a","friend_id":"b"}]}`, ada, 403, auth.ScopeUpdate},
		{"POST", "/v1/friends", `{"pairs":[]}`, server, 400, "1 to 500 pairs"},
		{"POST", "/v1/friends", tooMany, server, 400, "1 to 500 pairs"},
		{
			"POST", "/v1/friends", `{"pairs":[{"user_id":"a","friend_id":"b"},{"user_id":"c"}]}`, server, 400,
			"pairs[1]: user_id must be",
		},
		{"POST", "/v1/friends", `{"pairs":[{"user_id":"a","friend_id":"me"}]}`, server, 400, "stands for the token"},
		{"POST", "/v1/friends", `{"pairs":[{"user_id":"a","friend_id":"a"}]}`, server, 400, "different users"},
		{"POST", "/v1/scores/increment", `{"user_id":"me","delta":1,"event_id":"e","timestamp":"` +
			time.Now().UTC().Format(time.RFC3339) + `"}`, server, 400, "stands for the token's user"},
	} {
		status, _, answer := request(t, c.method, n.URL+c.path, c.body, c.token)
		if status != c.status || !strings.Contains(answer, c.says) {
			t.Errorf("%s %s %.60s: got %d %s, want %d and %q",
				c.method, c.path, c.body, status, answer, c.status, c.says)
		}
	}
	if rows := backends.Connect(t, h.postgres).Count(t, `select count(*) from friends`); rows != 0 {
		t.Errorf("rejected requests left %d rows", rows)
	}
}

// To whom asks them to be a friend, a user who was erased and one who never was differ in nothing: every
// answer, the lists, the board of friends and look-ups.
func TestErasedFriendLooksUnused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "limit-updates-per-minute", "600")
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	const gone, never = "user-gone", "user-none"
	for _, user := range []string{gone, "ada", "eve"} {
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Delta: 5}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := root.Erase(t.Context(), gone, "a test"); err != nil {
		t.Fatal(err)
	}
	conn := backends.Connect(t, h.postgres)
	h.await("the erasure", func() bool {
		return conn.Count(t, `select count(*) from scores where user_id = $1 and version > 0`, gone) == 0
	})
	times := regexp.MustCompile(
		`"(since|as_of|updated_at|request_id|board_state)":"[^"]*"|"(age_ms|version|epoch|total)":\d+`)
	asks := func(other string) (all []string) {
		token := bearer(h.token("ada", "", time.Hour))
		for _, ask := range []string{
			"GET /v1/users/OTHER/score", "GET /v1/users/OTHER/rank", "GET /v1/users/OTHER/profile",
			"PUT /v1/users/me/friends/OTHER", "PUT /v1/users/me/friends/OTHER",
			"GET /v1/users/me/friends?state=requested", "GET /v1/users/me/friends", "GET /v1/leaderboard/friends",
			"GET /v1/users/me/friends?state=received", "DELETE /v1/users/me/friends/OTHER",
			"GET /v1/users/me/friends?state=requested", "DELETE /v1/users/me/friends/OTHER",
		} {
			method, path, _ := strings.Cut(strings.ReplaceAll(ask, "OTHER", other), " ")
			status, _, body := request(t, method, n.URL+path, "", token)
			body = times.ReplaceAllString(strings.ReplaceAll(body, other, "OTHER"), "")
			all = append(all, fmt.Sprint(ask, " ", status, " ", body))
		}
		return all
	}
	erased, unused := asks(gone), asks(never)
	for i := range erased {
		if erased[i] != unused[i] {
			t.Errorf("of the erased user:\n%s\nof one who never was:\n%s", erased[i], unused[i])
		}
	}
	if !strings.Contains(erased[3], ` 200 `) || !strings.Contains(erased[5], "OTHER") ||
		strings.Contains(erased[10], "OTHER") {
		t.Errorf("the request is not stored and taken back: %q", erased)
	}
}
