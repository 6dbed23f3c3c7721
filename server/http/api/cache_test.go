package api_test

import (
	"net/http"
	"testing"
)

// Shared caches may keep the first rows of a public board that were read without a token, and
// nothing else.
func TestSharedCaches(t *testing.T) {
	t.Parallel()
	const (
		shared  = "public, max-age=0, s-maxage=1, stale-while-revalidate=10"
		own     = "private, no-cache"
		nowhere = "no-store"
		top     = "/v1/leaderboard/top"
	)
	r := newRig(t, 1000, func(r *rig) { r.open = true })
	r.limits.anonymous.left, r.limits.top.left, r.limits.rank.left = 1000, 1000, 1000
	token := r.token(r.tokens, "alice", "")
	for path, want := range map[string]string{
		top: shared, top + "?limit=100&board=other": shared, top + "?board=secret": nowhere,
		top + "?board=nowhere": nowhere, top + "?limit=0": nowhere,
		"/v1/users/alice/rank": nowhere,
	} {
		res := r.ask(http.MethodGet, path, "")
		if got := res.Header().Get("Cache-Control"); got != want {
			t.Errorf("%s without a token: got %d %q, want %q", path, res.Code, got, want)
		}
		wantOwn := nowhere
		if want == shared {
			wantOwn = own
		}
		res = r.ask(http.MethodGet, path, "", "Authorization", "Bearer "+token)
		if got := res.Header().Get("Cache-Control"); got != wantOwn {
			t.Errorf("%s with a token: got %d %q, want %q", path, res.Code, got, wantOwn)
		}
	}
	r.limits.anonymous.left, r.reads.cached = 0, true // over the limit: answered from this node's cache
	res := r.ask(http.MethodGet, top, "")
	if got := res.Header().Get("Cache-Control"); res.Code != http.StatusOK || got != own {
		t.Errorf("over the limit: got %d %q, want 200 %q", res.Code, got, own)
	}
}
