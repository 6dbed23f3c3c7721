package console

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

var update = flag.Bool("update", false, "rewrite testdata")

// newTest returns a console at a fixed time in front of an API.
func newTest(t *testing.T, api http.Handler, change func(*Options)) *Console {
	t.Helper()
	o := Options{API: api, Keys: [][]byte{make([]byte, 32)}, Log: discard(), Now: time.Now}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The list has every change with its command, so the test that makes each change, and the
// one of sbctl that parses each command, miss none.
func TestChangesAreListed(t *testing.T) {
	t.Parallel()
	values := url.Values{
		"user":       {"alice"},
		"board":      {"arena"},
		"delta":      {"-5"},
		"event":      {"match-1"},
		"kind":       {"adjustment"},
		"open":       {"yes"},
		"mode":       {"best"},
		"order":      {"lowest"},
		"period":     {"season"},
		"time_zone":  {"Europe/Berlin"},
		"season":     {"spring"},
		"region":     {"eu"},
		"platform":   {"pc"},
		"tags":       {"duel, ranked"},
		"visibility": {"private"},
		"partitions": {"8"},
		"attempts":   {"3"},
		"metadata":   {"public"},
		"ties":       {"shared"},

		"min_subscore": {"-20"}, "max_subscore": {"20"},

		"reward": {`{"gems":50}`}, "expires": {"720h"}, "join": {"required"}, "max_players": {"64"},
		"late_join": {"yes"},

		"title": {"Ring of fire"}, "description": {"Best lap."}, "color": {"#d55e00"}, "image": {"https://a.example/b"},

		"starts":     {"2098-01-01T00:00:00Z"},
		"ends":       {"2099-01-01T00:00:00Z"},
		"schedule":   {"0 18 * * fri"},
		"require":    {"action-token,attestation"},
		"action_min": {"30s"},
		"action_ttl": {"1h"},
		"id":         {"17"},
		"by":         {"key"},
		"sender":     {"k_1"},
		"from":       {"2026-11-21T10:00:00Z"},
		"to":         {"2026-11-21T11:00:00Z"},
		"name":       {"reads.top_n"},
		"boards": {
			"arena, daily",
		},
		"user_prefix": {"eu:"},
		"max_delta":   {"100"},
		"per_minute":  {"60"},
		"ttl":         {"2160h"},
		"key":         {"k_1"},
		"overlap":     {"1h"},
		"url":         {"https://example.com/hook"},
		"types":       {"season.closed, rank.reached"},
		"tiers":       {"gold=rank:10,silver=percentile:25"},
		"top":         {"10"},
		"webhook":     {"wh_1"},
		"delivery":    {"17"},
		"value":       {"7"},
		"start":       {replayOffset},
		"offset":      {"1200"},
		"partition":   {"3"},
		"topic":       {"scoreboard.events.v1"},
		"source":      {"csv"},
		"file":        {"user_id,score\nada,5"},
		"file_name":   {"scores.csv"},
		"reason":      {"why"},
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		ch := changes[name]
		values.Set("subscore", "highest") // of a board
		if name == "adjust" {
			values.Set("subscore", "-2")
		}
		own := ch.values(values)
		lines.WriteString(name + "\t" + ch.commandLine(own) + "\n")
		if sectionLabel(ch.section) == "" {
			t.Errorf("%s: no section %q in the menu", name, ch.section)
		}
		if ch.title == "" || ch.verb == "" || ch.intro == "" || ch.done == "" || ch.effect(values) == "" {
			t.Errorf("%s: a text is missing", name)
		}
		if _, err := ch.request(values); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, f := range ch.fields {
			if !values.Has(f.Name) {
				t.Errorf("%s: the test has no value for %s", name, f.Name)
			}
		}
	}
	const file = "testdata/changes.txt"
	if *update {
		if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if listed, err := os.ReadFile(file); err != nil || lines.String() != string(listed) {
		t.Errorf("%s is not up to date, %v: run with -update", file, err)
	}
}

// A return address of the sign-in is always a page of the console.
func TestSignInLeadsToTheConsole(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"/console/boards?sort=board":  "/console/boards?sort=board",
		"/console":                    "/console",
		"":                            "/console",
		"https://evil.example":        "/console",
		"//evil.example/console/":     "/console",
		"/console/../../v1":           "/console",
		"/console/%2e%2e/%2e%2e/v1":   "/console",
		"/consolex":                   "/console",
		"javascript:alert(1)":         "/console",
		"/console/sign-in?to=/x":      "/console",
		"/console/sign-out":           "/console",
		"/\\evil.example":             "/console",
		"/console/players/a;url=//x":  "/console/players/a;url=//x",
		"/console/players/a%0d%0ab:c": "/console/players/a%0d%0ab:c",
	} {
		if got := localPath(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

// Signing out deletes the cookie, and what pages have stored.
func TestSignOutClearsTheBrowser(t *testing.T) {
	t.Parallel()
	c := newTest(t, http.NotFoundHandler(), func(*Options) {})
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/console/sign-out", nil)
	if err := c.signIns.signOut(w, r, nil); err != nil {
		t.Fatal(err)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || cookies[0].Name != sessionCookie || cookies[0].MaxAge >= 0 ||
		w.Header().Get("Clear-Site-Data") != `"storage"` {
		t.Errorf("got %v", w.Header())
	}
}

// A text encrypted for one purpose, changed or too old is no session.
func TestSealedSessions(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := newTest(t, http.NotFoundHandler(), func(o *Options) { o.Now = func() time.Time { return now } })
	good := c.sessions.encrypt(purposeSession, session{User: "ada", Expires: now.Add(time.Hour)})
	read := func(c *Console, value string) *session {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/console", nil)
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: value})
		return c.sessions.session(r)
	}
	if s := read(c, good); s == nil || s.User != "ada" {
		t.Fatalf("got %v, want ada's session", s)
	}
	other := newTest(t, http.NotFoundHandler(), func(o *Options) { o.Keys = [][]byte{[]byte(strings.Repeat("k", 32))} })
	// During a rotation of the master key, sessions and forms of the second key are valid.
	rotated := newTest(t, http.NotFoundHandler(), func(o *Options) {
		o.Keys, o.Now = append(slices.Clone(other.sessions.keys), o.Keys...), c.sessions.now
	})
	if s := read(rotated, good); s == nil || !rotated.sessions.matchesFormToken(s, c.sessions.formToken(s)) {
		t.Errorf("got %v for a session of the second key", s)
	}
	ada := session{User: "ada", Expires: now.Add(time.Hour)}
	if s := read(c, rotated.sessions.encrypt(purposeSession, ada)); s != nil {
		t.Errorf("a session of the first key is %v for a console that does not have it", s)
	}
	flipped := []byte(good)
	flipped[len(flipped)/2] ^= 1
	for name, s := range map[string]*session{
		"of another key": read(other, good),
		"changed":        read(c, string(flipped)),
		"of another purpose": read(c, c.sessions.encrypt(purposeSignIn, session{
			User:    "ada",
			Expires: now.Add(time.Hour),
		})),
		"expired": read(c, c.sessions.encrypt(purposeSession, session{User: "ada", Expires: now})),
		"empty":   read(c, ""),
	} {
		if s != nil {
			t.Errorf("a text %s is the session of %s", name, s.User)
		}
	}
	// A session ends after eight hours, however long its token lives.
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/console", nil)
	c.sessions.begin(w, r, "token", Claims{User: "ada", Expires: now.Add(48 * time.Hour)})
	began, cookies := now, w.Result().Cookies()
	if len(cookies) != 1 || cookies[0].MaxAge != int((8*time.Hour).Seconds()) {
		t.Fatalf("got %v, want a cookie for eight hours", cookies)
	}
	for after, valid := range map[time.Duration]bool{8*time.Hour - time.Second: true, 8 * time.Hour: false} {
		if now = began.Add(after); (read(c, cookies[0].Value) != nil) != valid {
			t.Errorf("after %s the session is valid: %t", after, !valid)
		}
	}
	tokens := map[string]bool{}
	for _, id := range []string{"a", "b"} {
		tokens[c.sessions.formToken(&session{ID: id})] = true
	}
	own := &session{ID: "a"}
	if len(tokens) != 2 || c.sessions.matchesFormToken(own, "") ||
		c.sessions.matchesFormToken(own, c.sessions.formToken(&session{ID: "b"})) {
		t.Error("the token of a form does not depend on the session")
	}
}

// The console answers under its own name only, and without TLS on loopback only.
func TestConsoleHosts(t *testing.T) {
	t.Parallel()
	free := newTest(t, http.NotFoundHandler(), nil)
	named := newTest(t, http.NotFoundHandler(), func(o *Options) { o.URL = "https://ops.example" })
	for _, k := range []struct {
		c      *Console
		url    string
		status int
	}{
		{free, "http://127.0.0.1:8081/console/sign-in", http.StatusOK},
		{free, "http://localhost/console/sign-in", http.StatusOK},
		{free, "http://[::1]:8081/console/sign-in", http.StatusOK},
		{free, "https://any.example/console/sign-in", http.StatusOK},
		{free, "http://rebound.example:8081/console/sign-in", http.StatusMisdirectedRequest},
		{free, "http://127.0.0.1.evil.example/console/sign-in", http.StatusMisdirectedRequest},
		{named, "http://ops.example/console/sign-in", http.StatusOK}, // behind a proxy with TLS
		{named, "http://127.0.0.1:8081/console/sign-in", http.StatusMisdirectedRequest},
		{named, "https://other.example/console/sign-in", http.StatusMisdirectedRequest},
	} {
		w := httptest.NewRecorder()
		k.c.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, k.url, nil))
		if w.Code != k.status {
			t.Errorf("%s: got %d, want %d", k.url, w.Code, k.status)
		}
		for name, want := range map[string]string{
			"X-Frame-Options": "DENY", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", k.url, name, got, want)
			}
		}
		policy := w.Header().Get("Content-Security-Policy")
		for _, want := range []string{"frame-ancestors 'none'", "script-src 'self'", "trusted-types 'none'"} {
			if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: the policy is %q, want %s", k.url, policy, want)
			}
		}
	}
}

// The vendored library is the published one.
func TestVendoredLibrary(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile("assets/uplot.sha256")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		body, err := os.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is not the file that was vendored", name)
		}
		checked++
	}
	if checked != 3 {
		t.Errorf("%d files were checked, want 3", checked)
	}
}

// Words of a command survive a shell.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	got := commandLine([]string{"user", "ban", "ada", "--reason", "it's $(rm -rf /) “x”", ""})
	if want := `sbctl user ban ada --reason 'it'\''s $(rm -rf /) “x”' ''`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A cell of an export is no formula, and a number stays one.
func TestExportedCells(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "-5": "-5", "+x": "'+x", "ada": "ada", "": "", "-5+1": "'-5+1",
	} {
		if got := plainCell(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// A ranking that is not loaded is rebuilding only while a rebuild runs.
func TestStateOfTheRanking(t *testing.T) {
	t.Parallel()
	for rebuilding, want := range map[bool]string{false: "not loaded", true: "degraded rebuilding"} {
		board := &wire.RankingStatus{Board: "global", State: "DEGRADED_REBUILDING", Rebuilding: rebuilding}
		st := rankingStage(&wire.Status{Board: board})
		if st.State != want || st.Tone != "bad" {
			t.Errorf("with a rebuild %t: got %s in %s, want %s", rebuilding, st.State, st.Tone, want)
		}
	}
}

// Numbers and the ids of rows are sorted by value, everything else as text.
func TestRowsAreSorted(t *testing.T) {
	t.Parallel()
	rows := [][]cell{
		{reference("/9", 9), number(-3), text("b")}, {reference("/10", 10), number(2), text("A")},
	}
	for column, want := range []string{"9", "9", "10"} {
		sortRows(rows, column, false)
		if got := rows[0][0].Text; got != want {
			t.Errorf("by column %d the first row is %s, want %s", column, got, want)
		}
	}
}
