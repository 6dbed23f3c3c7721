package console

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Boards that begin with a text are the first ones after the name before it, in the order of bytes.
func TestNameBefore(t *testing.T) {
	t.Parallel()
	names := strings.Fields("0 9 a a-b a.b a_b ab abc a:one b cup cup-2 cup:one cup:two z")
	slices.Sort(names)
	for _, text := range []string{
		"a", "a-", "a.", "a_", "ab", "abc", "b", "cup", "cup:", "cup:o", "cup-", "0", "z", "-", "_", "A", "a b", "ü",
		":",
		strings.Repeat("a", scoreboard.MaxBoardNameLength), strings.Repeat("a", 300),
	} {
		after := nameBefore(text)
		if _, err := scoreboard.ParseBoardID(after); after != "" && err != nil {
			t.Errorf("%q: %q is no name of a board", text, after)
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s <= after })
		for _, name := range names {
			if at := slices.Index(rest, name); strings.HasPrefix(name, text) && (at < 0 || at > 6) {
				t.Errorf("%q: %s is at %d after %q, want it among the first", text, name, at, after)
			}
		}
	}
}

// A search finds pages, boards, players and actions, as far as the person may see them, and asks little of the API.
func TestFind(t *testing.T) {
	t.Parallel()
	var asked []string
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		var answer any
		switch r.URL.Path {
		case "/v1/boards":
			answer = wire.Boards{Boards: []wire.Board{{Board: "arena"}, {Board: "keystone", Status: "active"}}}
		case "/v1/admin/users/key":
			answer = wire.User{UserID: "key"}
		case "/v1/admin/users":
			if len(r.URL.Query().Get("name")) > maxAsked {
				t.Errorf("a name of %d bytes was searched for", len(r.URL.Query().Get("name")))
			}
			answer = wire.FoundUsers{Users: []wire.FoundUser{
				{UserID: "key", DisplayName: "Key"}, {UserID: "u1", DisplayName: "Keya"},
			}}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	c := newTest(t, api, func(o *Options) {
		o.Operations = []Operation{{Method: "POST", Path: "/v1/admin/keys", Scope: scopeAdmin, Action: "key.create"}}
	})
	search := func(query string, scopes ...string) (labels []string) {
		t.Helper()
		asked = nil
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/console/find?"+query, nil)
		s := &session{
			User: "ada", Scopes: scopes, Expires: time.Now().Add(time.Hour), operations: c.views.caller.operations,
		}
		if err := c.views.find(w, r, s); err != nil {
			t.Fatal(err)
		}
		var all []found
		if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
		for _, one := range all {
			labels = append(labels, one.Kind+" "+one.Label)
		}
		return labels
	}
	for _, tt := range []struct {
		query, want string
		scopes      []string
		requests    int
	}{
		{
			"q=key",
			"page Keys, board keystone, player key, player u1, action Create signing key",
			[]string{scopeAdmin},
			3,
		},
		{"q=key", "page Keys, board keystone, player key, player u1", []string{scopeOperate}, 3},
		{"q=KEY", "board keystone, player KEY", nil, 1},
		{"q=key&kind=board", "board keystone", []string{scopeAdmin}, 1},
		{"q=key&kind=player", "player key, player u1", []string{scopeAdmin}, 2},
		{"q=" + strings.Repeat("x", 300), "player key, player u1", []string{scopeOperate}, 3},
	} {
		if got := strings.Join(search(tt.query, tt.scopes...), ", "); got != tt.want || len(asked) != tt.requests {
			t.Errorf("%s for %v: got %s by %v, want %s", tt.query, tt.scopes, got, asked, tt.want)
		}
	}
	if all := search("q=", scopeAdmin); len(all) < 10 || slices.ContainsFunc(all, func(s string) bool {
		return strings.HasPrefix(s, "player")
	}) {
		t.Errorf("without a text: got %v, want pages and boards", all)
	}
}

// What audit entries and jobs name leads to its page.
func TestTargetsLeadToPages(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"user:ada/b": "/console/players/ada%2Fb", "board:cup:one": "/console/boards/cup:one",
		"webhook:wh_1": "/console/webhooks/wh_1", "key:k_1": "/console/keys", "letter:7": "/console/dead-letters/7",
		"flag:3": "/console/integrity/flags/3", "void:4": "/console/integrity/voids/4",
		"setting:reads.top_n": "/console/settings?name=reads.top_n",
		"board:*":             "", "ranking:*": "", "user:": "", "unknown:x": "", "": "", "board": "",
	} {
		if v := targetOf(target); v.Href != want || v.Text != target {
			t.Errorf("%s: got %+v, want %s", target, v, want)
		}
	}
}

// A long id is shortened on the page, and whole in exports and for copying.
func TestIdsAreShortened(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"": "", "match-1": "match-1", "123456789012345678": "123456789012345678",
		"550e8400-e29b-41d4-a716-446655440000": "550e8400-e29…40000", "ääääääääääääääääääää": "ääääääääääää…äääää",
	} {
		if v := idOf("", id); v.Text != want || v.raw() != id {
			t.Errorf("%s: got %+v, want %s", id, v, want)
		}
	}
}

// The choices of the settings count what they would show.
func TestSettingsAreCounted(t *testing.T) {
	t.Parallel()
	all := []wire.Setting{
		{Name: "addr", Source: "default"},
		{Name: "limit.a", Source: "store", Live: true, Meaning: "reads"},
		{Name: "limit.b", Source: "flag"},
		{Name: "reads.top", Source: "default", Live: true},
	}
	show := func(q url.Values) string {
		v := newSettingsView(all, q)
		var out []string
		for _, c := range slices.Concat(v.Sources, v.Sections) {
			out = append(out, c.Label+" "+string(rune('0'+c.Count)))
		}
		return strings.Join(out, ", ")
	}
	for query, want := range map[string]string{
		"": "all 4, can be changed here 2, not the default 2, changed by operators 1, " +
			"all 4, general 1, limit 2, reads 1",
		"name=READS": "all 2, can be changed here 2, not the default 1, changed by operators 1, " +
			"all 2, general 0, limit 1, reads 1",
		"section=limit": "all 2, can be changed here 1, not the default 2, changed by operators 1, " +
			"all 4, general 1, limit 2, reads 1",
		"source=live": "all 4, can be changed here 2, not the default 2, changed by operators 1, " +
			"all 2, general 0, limit 1, reads 1",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := show(q); got != want {
			t.Errorf("%q: got %s, want %s", query, got, want)
		}
	}
}
