package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ask sends a request with headers in pairs.
func (r *rig) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	req := httptest.NewRequestWithContext(r.t.Context(), method, target, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

func (r *rig) server() (name, value string) {
	return "Authorization", "Bearer " + r.token(r.tokens, "game", auth.ScopeUpdate)
}

func body[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return v
}

// Every invalid read is a client error that names the invalid field.
func TestInvalidReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	name, token := r.server()
	cursor := body[wire.Top](t, r.ask("GET", "/v1/leaderboard/top?limit=3", "", name, token)).NextCursor
	daily := body[wire.Top](
		t,
		r.ask("GET", "/v1/leaderboard/top?limit=3&board=daily:2026-11-21", "", name, token),
	).NextCursor
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	raw[5] ^= 1
	forged := base64.RawURLEncoding.EncodeToString(raw)
	many := strings.Repeat(`"u",`, 100) + `"u"`
	for _, c := range []struct {
		method, target, body string
		status               int
		field                string
	}{
		{"GET", "/v1/leaderboard/top?limit=0", "", 400, "limit"},
		{"GET", "/v1/leaderboard/top?limit=-1", "", 400, "limit"},
		{"GET", "/v1/leaderboard/top?limit=101", "", 400, "limit"},
		{"GET", "/v1/leaderboard/top?limit=ten", "", 400, "limit"},
		{"GET", "/v1/leaderboard/top?limit=1e1", "", 400, "limit"},
		{"GET", "/v1/leaderboard/top?limit=99999999999999999999", "", 400, "limit"},
		{"GET", "/v1/leaderboard/top?min_version=0", "", 400, "min_version"},
		{"GET", "/v1/leaderboard/top?min_version=new", "", 400, "min_version"},
		{"GET", "/v1/leaderboard/top?board=nowhere", "", 404, ""},
		{"GET", "/v1/leaderboard/top?board=No+Where", "", 400, "board"},
		{"GET", "/v1/leaderboard/top?board=global&board=other", "", 400, "board"},
		{"GET", "/v1/leaderboard/top?lmit=10", "", 400, "lmit"},
		{"GET", "/v1/leaderboard/top?cursor=" + cursor[:len(cursor)-1], "", 400, "cursor"},
		{"GET", "/v1/leaderboard/top?cursor=" + cursor[:8], "", 400, "cursor"},
		{"GET", "/v1/leaderboard/top?cursor=" + cursor + "A", "", 400, "cursor"},
		{"GET", "/v1/leaderboard/top?cursor=" + forged, "", 400, "cursor"},
		{"GET", "/v1/leaderboard/top?cursor=" + strings.Repeat("A", 5000), "", 400, "cursor"},
		{"GET", "/v1/leaderboard/top?cursor=%00%ff", "", 400, "cursor"},
		{"GET", "/v1/leaderboard/top?board=other&cursor=" + cursor, "", 400, "cursor"},
		{"GET", "/v1/leaderboard/top?board=daily&cursor=" + daily, "", 410, "cursor"},
		{"GET", "/v1/leaderboard/me?k=-1", "", 400, "k"},
		{"GET", "/v1/leaderboard/me?k=51", "", 400, "k"},
		{"GET", "/v1/users/alice/rank?k=51", "", 400, "k"},
		{"GET", "/v1/users/alice/rank?k=two", "", 400, "k"},
		{"GET", "/v1/users/alice/rank?score=1.5", "", 400, "score"},
		{"GET", "/v1/users/alice/rank?score=9007199254740992", "", 400, "score"},
		{"GET", "/v1/users/alice/rank?subscore=1", "", 400, "score"},
		{"GET", "/v1/users/alice/rank?score=1&subscore=1.5", "", 400, "subscore"},
		{"GET", "/v1/users/alice/rank?score=1&subscore=-9007199254740992", "", 400, "subscore"},
		{"GET", "/v1/users/alice/rank?score=1&subscore=0", "", 400, "subscore"}, // the board has none
		{"GET", "/v1/users/al%7Cice/score", "", 400, "user_id"},
		{"GET", "/v1/users/" + strings.Repeat("a", 65) + "/score", "", 400, "user_id"},
		{"GET", "/v1/users/nobody/score", "", 404, ""},
		{"POST", "/v1/leaderboard/users", `{"user_ids":[]}`, 400, "user_ids"},
		{"POST", "/v1/leaderboard/users", `{}`, 400, "user_ids"},
		{"POST", "/v1/leaderboard/users", `{"user_ids":["a","a"]}`, 400, "user_ids"},
		{"POST", "/v1/leaderboard/users", `{"user_ids":["a|b"]}`, 400, "user_ids"},
		{"POST", "/v1/leaderboard/users", `{"user_ids":["a",5]}`, 400, "user_ids"},
		{"POST", "/v1/leaderboard/users", `{"user_ids":"a"}`, 400, "user_ids"},
		{"POST", "/v1/leaderboard/users", `{"user_ids":[` + many + `]}`, 400, "user_ids"},
		{"POST", "/v1/leaderboard/users", `{"user_ids":["a"],"users":[]}`, 400, "users"},
		{"POST", "/v1/leaderboard/users", `{"user_ids":["a"],"board":""}`, 400, "board"},
		{"POST", "/v1/leaderboard/users", `{"user_ids":["a"],"board":"nowhere"}`, 404, ""},
		{"POST", "/v1/leaderboard/users", `{"user_ids":["a"]}{}`, 400, ""},
		{"POST", "/v1/leaderboard/users", `["a"]`, 400, ""},
		{"POST", "/v1/leaderboard/users", `{"user_ids":["` + strings.Repeat("a", 20_000) + `"]}`, 413, ""},
		{"DELETE", "/v1/leaderboard/top", "", 405, ""},
	} {
		w := r.ask(c.method, c.target, c.body, name, token)
		e := body[wire.Error](t, w)
		if w.Code != c.status || e.Field != c.field || e.Message == "" || e.RequestID == "" {
			t.Errorf(
				"%s %.80s %.60s: %d %+v, want %d about %q",
				c.method,
				c.target,
				c.body,
				w.Code,
				e,
				c.status,
				c.field,
			)
		}
	}
}

func TestPagination(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	name, token := r.server()
	var seen []int64
	for target := "/v1/leaderboard/top?limit=10"; ; {
		w := r.ask("GET", target, "", name, token)
		page := body[wire.Top](t, w)
		if first := len(seen) == 0; first != (w.Header().Get("ETag") != "") {
			t.Errorf("after %v: got ETag %q, want one on the first page only", seen, w.Header().Get("ETag"))
		}
		if page.Total != crowd || *page.Version != 7 || *page.Epoch != 3 || page.Degraded ||
			page.BoardState != "HEALTHY" ||
			page.AsOf.IsZero() {
			t.Errorf("got %+v", page)
		}
		for _, e := range page.Entries {
			seen = append(seen, e.Rank)
		}
		if page.NextCursor == "" {
			break
		}
		target = "/v1/leaderboard/top?limit=10&cursor=" + page.NextCursor
	}
	if len(seen) != crowd || seen[0] != 1 || seen[crowd-1] != crowd {
		t.Errorf("got ranks %v on the pages", seen)
	}
}

func TestTopETag(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	name, token := r.server()
	tag := r.ask("GET", "/v1/leaderboard/top", "", name, token).Header().Get("ETag")
	if tag == "" || tag == r.ask("GET", "/v1/leaderboard/top?limit=5", "", name, token).Header().Get("ETag") {
		t.Errorf("ETag %q, want one over the rows shown", tag)
	}
	for given, status := range map[string]int{
		tag: 304, strings.TrimPrefix(tag, "W/"): 304, `"other", ` + tag: 304, "*": 304,
		`"other"`: 200, "": 200, tag[:len(tag)-2] + `"`: 200,
	} {
		w := r.ask("GET", "/v1/leaderboard/top", "", name, token, "If-None-Match", given)
		if w.Code != status || w.Header().Get("ETag") != tag || (w.Body.Len() == 0) != (status == 304) {
			t.Errorf(
				"If-None-Match %s: %d with ETag %q and %d bytes, want %d",
				given,
				w.Code,
				w.Header().Get("ETag"),
				w.Body.Len(),
				status,
			)
		}
	}
	r.reads.degraded = "rebuilding"
	w := r.ask("GET", "/v1/leaderboard/top", "", name, token, "If-None-Match", "*")
	top := body[wire.Top](t, w)
	if w.Header().Get("ETag") != "" || !top.Degraded || top.DegradedReason != "rebuilding" || top.Version != nil ||
		top.Epoch != nil {
		t.Errorf("degraded: %d %+v with ETag %q", w.Code, top, w.Header().Get("ETag"))
	}
}

// The hand-written encoding equals that of encoding/json.
func TestReadJSONMatchesTypes(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	name, token := r.server()
	top := r.ask("GET", "/v1/leaderboard/top?limit=3", "", name, token)
	place := r.ask("GET", "/v1/users/alice/rank?k=1", "", name, token)
	for _, w := range []struct {
		got  *httptest.ResponseRecorder
		like any
	}{{top, &wire.Top{}}, {place, &wire.Place{}}} {
		if err := json.Unmarshal(w.got.Body.Bytes(), w.like); err != nil {
			t.Fatalf("%s: %v", w.got.Body, err)
		}
		if want, err := json.Marshal(w.like); err != nil || string(want) != w.got.Body.String() {
			t.Errorf("got  %s\nwant %s (%v)", w.got.Body, want, err)
		}
	}
	list := body[wire.List](t, r.ask("POST", "/v1/leaderboard/users", `{"user_ids":["b","a"]}`, name, token))
	if len(list.Entries) != 1 || list.Entries[0].ListRank != 1 || list.Entries[0].Rank != 9 ||
		len(list.NotFound) != 1 ||
		list.NotFound[0] != "a" {
		t.Errorf("list: %+v", list)
	}
}

func TestWouldRank(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	name, token := r.server()
	w := r.ask("GET", "/v1/users/nobody/rank?score=1200", "", name, token)
	if e := body[wire.Error](t, w); w.Code != 404 || e.ErrorCode != "not_found" || e.WouldRank != 17 {
		t.Errorf("%d %+v", w.Code, e)
	}
}

func TestStaleAnswersOverLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	r.reads.cached = true
	token := "Bearer " + r.token(r.tokens, "alice", "")
	for target, free := range map[string]int{"/v1/leaderboard/top": 4, "/v1/leaderboard/me": 5} {
		for n := range free + 2 {
			w := r.ask("GET", target, "", "Authorization", token)
			if over := n >= free; w.Code != 200 || over != (w.Header().Get("Retry-After") == "2") {
				t.Errorf("%s, request %d: got %d and headers %v", target, n+1, w.Code, w.Header())
			}
		}
	}
	r.reads.cached = false
	for _, target := range []string{"/v1/leaderboard/top", "/v1/leaderboard/me"} {
		w := r.ask("GET", target, "", "Authorization", token)
		if w.Code != 429 || w.Header().Get("Retry-After") != "2" {
			t.Errorf("%s without a cached answer: got %d and headers %v", target, w.Code, w.Header())
		}
	}
	r.reads.cached = true
	w := r.ask("GET", "/v1/leaderboard/top?limit=0", "", "Authorization", token)
	if w.Code != 400 || w.Header().Get("Retry-After") != "" {
		t.Errorf("an invalid request over the limit: got %d with Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
}

func TestBoardVisibility(t *testing.T) {
	t.Parallel()
	const none = ""
	open, shut := newRig(t, 1000, func(r *rig) { r.open = true }), newRig(t, 1000)
	for _, c := range []struct {
		rig         *rig
		user, scope string
		target      string
		status      int
	}{
		{shut, none, "", "/v1/leaderboard/top", 401},
		{open, none, "", "/v1/leaderboard/top", 200},
		{open, none, "", "/v1/leaderboard/me", 401},
		{open, none, "", "/v1/users/alice/rank", 200},
		{open, none, "", "/v1/users/alice/rank", 429}, // the address's third request, and nothing is cached
		{newRig(t, 1000, func(r *rig) { r.open = true }), none, "", "/v1/leaderboard/top?board=secret", 404},
		{shut, "alice", "", "/v1/leaderboard/top?board=secret", 404},
		{shut, "alice", "", "/v1/users/bob/score?board=secret", 404},
		{shut, "alice", "", "/v1/users/alice/score?board=secret", 200},
		{shut, "alice", "", "/v1/leaderboard/me?board=secret", 200},
		{shut, "alice", "", "/v1/leaderboard/me?board=secret&k=1", 404},
		{shut, "game", auth.ScopeUpdate, "/v1/users/bob/rank?board=secret", 200},
		{shut, "root", auth.ScopeAdmin, "/v1/leaderboard/top?board=secret", 200},
	} {
		var headers []string
		if c.user != none {
			headers = []string{"Authorization", "Bearer " + c.rig.token(c.rig.tokens, c.user, c.scope)}
		}
		if w := c.rig.ask(http.MethodGet, c.target, "", headers...); w.Code != c.status {
			t.Errorf("%q with %q: %s: %d %s, want %d", c.user, c.scope, c.target, w.Code, w.Body, c.status)
		}
	}
	if w := open.ask("GET", "/v1/leaderboard/top", "", "Authorization", "Bearer wrong"); w.Code != 401 {
		t.Errorf("a wrong token where none is required: got %d, want 401", w.Code)
	}
}

// A popular first page is cheap: it is encoded once.
func BenchmarkTop(b *testing.B) {
	r := newRig(&testing.T{}, 1<<30)
	r.limits.servers.left = 1 << 30
	_, token := r.server()
	held := r.reads.rows("global", 1, scoreboard.TopSize)
	r.with(func(o *api.Options) { o.Reads = frozen{&r.reads, held} })
	req := httptest.NewRequestWithContext(b.Context(), "GET", "/v1/leaderboard/top", nil)
	req.Header.Set("Authorization", token)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}
