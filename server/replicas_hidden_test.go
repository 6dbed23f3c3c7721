package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// TestHiddenUsersInLateReplicas makes one user private and bans another while both replicas stand
// still. A player never sees the private one in what the replicas still have; the banned one is
// gone once the replicas are too far behind.
func TestHiddenUsersInLateReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	r.add("bob")
	r.add("carol")
	at := time.Now().UTC()
	r.await("the replicas to have everyone", func() bool {
		top, err := r.reader.Top(t.Context(), client.TopQuery{})
		before := r.readsBy("postgres", "replica")
		past, pastErr := r.reader.Top(t.Context(), client.TopQuery{At: at})
		return err == nil && len(top.Entries) == 3 && !top.Degraded && pastErr == nil && len(past.Entries) == 3 &&
			r.readsBy("postgres", "replica") > before
	})
	r.cutOff()
	r.onStandby(`select pg_wal_replay_pause()`)
	if _, err := r.game.SetPrivacy(t.Context(), "carol", "private"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.game.Ban(t.Context(), "bob", "a test"); err != nil {
		t.Fatal(err)
	}
	moment := at.Format(time.RFC3339Nano)
	player := bearer(r.token("alice", "", time.Hour))
	seen := func(user string) (where []string) {
		t.Helper()
		for _, path := range []string{
			"/v1/leaderboard/top", "/v1/leaderboard/top?at=" + url.QueryEscape(moment),
			"/v1/leaderboard/timeline?to=" + url.QueryEscape(moment), "/v1/users/" + user + "/score",
			"/v1/users/" + user + "/rank?k=1", "/v1/users/" + user + "/score?at=" + url.QueryEscape(moment),
			"/v1/users/" + user + "/history?step=1s&from=" + url.QueryEscape(moment) + "&to=" + url.QueryEscape(moment),
		} {
			status, _, body := request(t, http.MethodGet, r.reads.URL+path, "", player)
			if status >= http.StatusInternalServerError {
				t.Errorf("%s: got %d %s", path, status, body)
			}
			if status == http.StatusOK && strings.Contains(body, user) {
				where = append(where, path)
			}
		}
		return where
	}
	for end := time.Now().Add(9 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if where := seen("carol"); where != nil {
			t.Fatalf("a private user is in %q", where)
		}
	}
	r.awaitUsable("postgres", false)
	r.awaitUsable("redis", false)
	r.await("the banned user to be gone", func() bool { return seen("bob") == nil })
	if by := r.readsBy("postgres", "replica"); by == 0 {
		t.Error("no read came from the replica: the test shows nothing")
	}
}
