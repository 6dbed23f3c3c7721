package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// asks sends a request to a route, with values for its parameters.
func asks(t *testing.T, a *API, r route, user, token, body string) int {
	t.Helper()
	var parts []string
	for part := range strings.SplitSeq(r.path, "/") {
		switch {
		case part == ":user_id":
			part = user
		case strings.HasPrefix(part, ":"):
			part = "1"
		}
		parts = append(parts, part)
	}
	req := httptest.NewRequestWithContext(t.Context(), r.method, strings.Join(parts, "/"), strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, req)
	return w.Code
}

func minted(t *testing.T, a *API, user scoreboard.UserID, scope string) string {
	t.Helper()
	token, _, err := a.callers.tokens.Mint(user, scope, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// unscoped lists the routes that change something and need no scope, because each
// checks the user itself. A new route must require a scope or be added here.
var unscoped = map[string]bool{
	"POST /v1/scores/increment": true, "POST /v1/actions": true, "PUT /v1/users/:user_id/profile": true,
	"PUT /v1/users/:user_id/privacy": true, "POST /v1/users/:user_id/rewards/:id/claim": true,
	"POST /v1/boards/:board/join": true, "DELETE /v1/boards/:board/join": true, // of the token's user
	"POST /v1/leaderboard/users":        true,                                               // only reads
	"PUT /v1/users/me/friends/:user_id": true, "DELETE /v1/users/me/friends/:user_id": true, // of the token's user
}

func TestRoutesRequireTokenAndScope(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	lesser := map[string]string{
		"no scope":     "",
		"score:update": auth.ScopeUpdate,
		"ws_conn":      auth.ScopeJoin,
		"both":         auth.ScopeUpdate + " " + auth.ScopeJoin,
		"unknown":      "admin score:read score",
		"upper case":   "SCORE:ADMIN",
		"longer":       "score:administrator",
		"prefix":       "score:admi",
		"comma":        "score:admin,score:update",
		"wildcard":     "score:*",
	}
	admin, operator := 0, 0
	for _, r := range a.handlers.routes() {
		name := r.method + " " + r.path
		if r.scope == noToken || r.scope == listedBoard {
			continue
		}
		if got := asks(t, a, r, "alice", "", "{}"); got != http.StatusUnauthorized {
			t.Errorf("%s without a token: got %d, want 401", name, got)
		}
		if strings.HasPrefix(r.path, "/v1/admin") && !r.operates() {
			t.Errorf("%s requires scope %q, want %s or %s", name, r.scope, auth.ScopeOperate, auth.ScopeAdmin)
		}
		if r.method != http.MethodGet && r.requires() == "" && !unscoped[name] {
			t.Errorf("%s changes something and requires no scope: add one, or add the route to unscoped", name)
		}
		if !r.operates() {
			continue
		}
		if r.scope == auth.ScopeAdmin {
			admin++
			lesser["operator"] = auth.ScopeOperate + " " + auth.ScopeUpdate
		} else {
			operator++
			delete(lesser, "operator")
		}
		for what, scope := range lesser {
			if got := asks(t, a, r, "alice", minted(t, a, "alice", scope), "{}"); got != http.StatusForbidden {
				t.Errorf("%s with %s: got %d, want 403", name, what, got)
			}
		}
	}
	if admin < 20 || operator < 30 {
		t.Errorf("got %d routes that require %s and %d that require %s, want at least 20 and 30",
			admin, auth.ScopeAdmin, operator, auth.ScopeOperate)
	}
}

// What an operator's token may do, in one place: everything else on the routes of
// operators needs an administrator's. A route that moves from one to the other changes
// this list.
func TestOperatorsChangesCanBeTakenBack(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	want := []string{
		"", // reads
		"board.export", "board.freeze", "board.unfreeze", "flag.confirm", "flag.dismiss", "job.stop",
		"ledger.checkpoint", "letter.requeue", "player.add", "player.remove", "ranking.rebuild", "ranking.reconcile",
		"ranking.replay", "reward.grant", "reward.revoke", "user.ban", "user.freeze", "user.unban", "user.unfreeze",
		"webhook.enable", "webhook.retry", "webhook.test",
	}
	scopes := map[string]string{}
	var got []string
	for _, r := range a.handlers.routes() {
		if !r.operates() {
			continue
		}
		if scope, seen := scopes[r.action]; seen && scope != r.scope {
			t.Errorf("%s requires %s on one route and %s on another", r.action, scope, r.scope)
		}
		if scopes[r.action] = r.scope; r.scope == auth.ScopeOperate && !slices.Contains(got, r.action) {
			got = append(got, r.action)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("operators may: got %q, want %q", got, want)
	}
	reached := errors.New("the handler was called")
	for _, r := range a.handlers.routes() {
		if !r.operates() {
			continue
		}
		r.handle = func(*gin.Context, *auth.Claims) error { return reached }
		for scope, allowed := range map[string]bool{
			"":                false,
			auth.ScopeOperate: r.scope == auth.ScopeOperate,
			auth.ScopeAdmin:   true,
		} {
			c, _ := gin.CreateTestContext(httptest.NewRecorder())
			c.Request = httptest.NewRequestWithContext(t.Context(), r.method, "/?reason=because",
				strings.NewReader("{}"))
			c.Request.Header.Set("Authorization", "Bearer "+minted(t, a, "root", scope))
			c.Request.Header.Set("Content-Type", "application/json")
			if !slices.Contains(r.query, queryReason) {
				c.Request.URL.RawQuery = ""
			}
			if err := a.run(c, r); errors.Is(err, reached) != allowed {
				t.Errorf("%s %s with %q: got %v, allowed is %t", r.method, r.path, scope, err, allowed)
			}
		}
	}
}

// Every route with a user id checks the user before it calls a component: this API
// has none.
func TestOtherUsersIDIsForbidden(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	bodies := map[string]string{
		"POST /v1/scores/increment": `{"user_id":"alice","delta":1,"event_id":"e",` +
			`"timestamp":"2026-11-21T12:00:00Z"}`,
		"POST /v1/actions":               `{"user_id":"alice"}`,
		"PUT /v1/users/:user_id/profile": `{"display_name":"x"}`,
		"PUT /v1/users/:user_id/privacy": `{"visibility":"friends"}`,
	}
	mallory := minted(t, a, "mallory", "")
	seen := 0
	for _, r := range a.handlers.routes() {
		name := r.method + " " + r.path
		if strings.HasPrefix(r.path, pathFriends) || // names another user on purpose
			!strings.Contains(r.path, ":user_id") && bodies[name] == "" || r.data == showsBoards ||
			r.data == showsListed {
			continue
		}
		seen++
		body := bodies[name]
		if body == "" {
			body = "{}"
		}
		if got := asks(t, a, r, "alice", mallory, body); got != http.StatusForbidden {
			t.Errorf("%s of alice by mallory: got %d, want 403", name, got)
		}
	}
	for _, of := range []route{
		{method: http.MethodGet, path: "/v1/events/e?user_id=alice"},
		{method: http.MethodGet, path: "/v1/boards/cup/join?user_id=alice"},
		{method: http.MethodPost, path: "/v1/boards/cup/join?user_id=alice"},
		{method: http.MethodDelete, path: "/v1/boards/cup/join?user_id=alice"},
	} {
		if got := asks(t, a, of, "", mallory, ""); got != http.StatusForbidden {
			t.Errorf("%s %s by mallory: got %d, want 403", of.method, of.path, got)
		}
	}
	if seen < 8 {
		t.Errorf("got %d routes with a user id, want at least 8", seen)
	}
	// A route with a user id outside its path is tested above, requires a scope, or
	// reads public data.
	scopes := map[string]string{}
	for _, r := range a.handlers.routes() {
		scopes[r.method+" "+r.path] = r.requires()
	}
	for _, o := range operations() {
		takes := slices.ContainsFunc(o.query, func(p param) bool { return p.name == "user_id" })
		if o.body != nil {
			for body, i := reflect.TypeOf(o.body), 0; i < body.NumField(); i++ {
				takes = takes || strings.HasPrefix(body.Field(i).Tag.Get("json"), "user_id")
			}
		}
		if takes && scopes[o.route] == "" && bodies[o.route] == "" && o.route != "GET /v1/events/:event_id" &&
			o.route != "POST "+pathUsers && !strings.HasSuffix(o.route, pathJoin) {
			t.Errorf("%s has a user id: test that it rejects other users", o.route)
		}
	}
}

func TestJoinScopeOnlyJoins(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	token := minted(t, a, "alice", auth.ScopeJoin)
	for _, r := range a.handlers.routes() {
		if r.stream != nil || r.scope == noToken {
			continue
		}
		if got := asks(t, a, r, "alice", token, "{}"); got != http.StatusForbidden {
			t.Errorf("%s %s with ws_conn alone: got %d, want 403", r.method, r.path, got)
		}
	}
}

// full is a limit that admits nothing.
type full struct{}

func (full) Take(context.Context, string) time.Duration { return time.Minute }

// dialectRows are the routes of a dialect that has one of each access, as rows of the
// route table.
func dialectRows(a *API) []route {
	d := &Dialect{Name: "d", Base: "/d"}
	rows := make([]route, 0, AccessStream)
	for access := AccessWrite; access <= AccessStream; access++ {
		r := &DialectRoute{
			Method: http.MethodGet, Path: fmt.Sprint("/", access), Access: access,
			Handle: func(*Call) error { return nil }, Stream: &DialectStream{Board: "global"},
		}
		if access == AccessWrite || access == AccessTicket {
			r.Method = http.MethodPost
		}
		rows = append(rows, a.dialects.dialectRoute(d, r))
	}
	return rows
}

// The router serves exactly the routes of the table, and each declares its scope,
// limit, audit and visibility, also each of a dialect.
func TestRoutesAreDeclared(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	table := map[string]bool{}
	for _, r := range append(a.handlers.routes(), dialectRows(a)...) {
		name := r.method + " " + r.path
		if r.dialect == nil {
			table[name] = true
		}
		switch r.scope {
		case noToken, optionalToken, listedBoard, anyToken, auth.ScopeUpdate, auth.ScopeOperate, auth.ScopeAdmin:
		default:
			t.Errorf("%s has no scope", name)
		}
		if r.rate == nil {
			t.Errorf("%s has no limit", name)
		}
		if r.query == nil {
			t.Errorf("%s does not declare its parameters", name)
		}
		if slices.Equal(r.query, anyParameters) != (r.data == showsNothing || r.dialect != nil || r.isView()) {
			t.Errorf("%s: only pages and dialects ignore parameters that they do not know", name)
		}
		if (r.rate == byAddress) != (r.scope == noToken) {
			t.Errorf("%s: a route without a token is limited by address, any other by caller", name)
		}
		changes := r.method != http.MethodGet && r.path != pathVerify && !r.isList()
		switch {
		case r.audit == 0:
			t.Errorf("%s does not say whether it is audited", name)
		case (r.audit == unaudited) != (r.action == ""):
			t.Errorf("%s: an audited route has an action, no other has one", name)
		case r.operates() && changes && r.audit != audited:
			t.Errorf("%s changes something for an operator and is not audited", name)
		}
		switch {
		case r.data == 0:
			t.Errorf("%s does not say whose data it shows", name)
		case (r.data == showsNothing) != (r.scope == noToken):
			t.Errorf("%s: only a route that shows nothing needs no token", name)
		case (r.data == showsListed) != (r.scope == listedBoard):
			t.Errorf("%s: only a route of listed boards needs them to be listed", name)
		case (r.data == showsAll) != (r.requires() != ""):
			t.Errorf("%s: data of all users needs a scope, and a scope opens it", name)
		case r.scope == optionalToken && r.data != showsBoards:
			t.Errorf("%s: without a token only boards are open", name)
		case r.dialect != nil && r.method != http.MethodGet && r.scope != anyToken:
			t.Errorf("%s: a dialect's write needs a token", name)
		}
	}
	for _, r := range a.engine.Routes() {
		if r.Method == http.MethodHead { // TestHead
			continue
		}
		if name := r.Method + " " + r.Path; !table[name] {
			t.Errorf("%s is not in the route table", name)
		} else {
			delete(table, name)
		}
	}
	for name := range table {
		t.Errorf("%s is not served", name)
	}
}

// isView reports whether a route is a page or a picture of a board, or the list of boards.
func (r route) isView() bool {
	return r.path == pathPages || r.path == pathPage || r.path == pathEmbed || r.path == pathCard
}

// isList reports whether a POST only reads.
func (r route) isList() bool { return r.path == pathUsers }

// noFriends are the friends of nobody.
type noFriends struct{ Friends }

func (noFriends) Asked(
	context.Context, scoreboard.UserID, []scoreboard.UserID,
) ([]scoreboard.UserID, error) {
	return nil, nil
}

// Every route answers 429 to callers over their limit, but for what hides them.
func TestEveryRouteIsLimited(t *testing.T) {
	t.Parallel()
	a := everything(&trail{}, func(o *Options) {
		o.Reads, o.Catalog, o.Friends = nothingCached{}, openBoard{}, noFriends{}
	})
	a.limits.Anonymous = full{}
	for limits, i := reflect.ValueOf(a.limits).Elem(), 0; i < limits.NumField(); i++ {
		if limits.Field(i).Type() == reflect.TypeFor[Rate]() {
			limits.Field(i).Set(reflect.ValueOf(Rate{Users: full{}, Servers: full{}}))
		}
	}
	user, server := minted(t, a, "alice", ""), minted(t, a, "game", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	for _, r := range a.engine.Routes() {
		row := route{method: r.Method, path: r.Path}
		tokens := []string{user, server}
		switch {
		case r.Path == rootPath, r.Path == openAPIPath, r.Path == asyncAPIPath, r.Path == docsPath,
			r.Path == docsPagePath, r.Path == pathAsset:
			tokens = []string{""}
		case strings.HasPrefix(r.Path, pathPage), r.Path == pathEmbed:
			tokens = append(tokens, "")
		case r.Path == "/v1/scores/increments", r.Path == "/v1/friends",
			strings.HasPrefix(r.Path, "/v1/boards/:board/teams"):
			tokens = []string{server}
		case strings.HasPrefix(r.Path, "/v1/admin"),
			strings.HasPrefix(r.Path, "/v1/boards") && r.Method != http.MethodGet:
			tokens = []string{server, minted(t, a, "root", auth.ScopeAdmin)}
		}
		for _, token := range tokens {
			if got := asks(t, a, row, "alice", token, "{}"); got != http.StatusTooManyRequests {
				t.Errorf("%s %s over the limit: got %d, want 429", r.Method, r.Path, got)
			}
		}
	}
}

// nothingCached has no answer for callers over the limit.
type nothingCached struct{ Leaderboard }

func (nothingCached) CachedTop(scoreboard.BoardID) *scoreboard.Top { return nil }

func (nothingCached) CachedPlace(scoreboard.BoardID, scoreboard.UserID, int) *scoreboard.Place {
	return nil
}

// openBoard is a catalog of one public board.
type openBoard struct{}

func (openBoard) Board(context.Context, scoreboard.BoardID) (*scoreboard.Board, error) {
	return &scoreboard.Board{ID: "global", Family: "global", Public: true}, nil
}

func (o openBoard) PublicBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return o.Board(ctx, id)
}

func (o openBoard) Families(ctx context.Context) ([]*scoreboard.Board, error) {
	b, err := o.Board(ctx, scoreboard.GlobalBoard)
	return []*scoreboard.Board{b}, err
}

func (openBoard) Periods(context.Context, scoreboard.BoardID) ([]*scoreboard.Board, error) {
	return nil, nil
}

func (o openBoard) Named(ctx context.Context, id scoreboard.BoardID, _ bool, _ time.Time) (*scoreboard.Board, error) {
	return o.Board(ctx, id)
}

// secretBoard is a catalog, and a store, of one private board.
type secretBoard struct{ Boards }

var secret = &scoreboard.Board{ID: "secret", Family: "secret", Status: scoreboard.StatusActive}

func (secretBoard) Board(context.Context, scoreboard.BoardID) (*scoreboard.Board, error) {
	return secret, nil
}

func (secretBoard) PublicBoard(_ context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return secret, scoreboard.Errorf(wire.CodeNotFound, "board %s not found", id)
}

func (secretBoard) Families(context.Context) ([]*scoreboard.Board, error) {
	return []*scoreboard.Board{secret}, nil
}

func (secretBoard) Periods(context.Context, scoreboard.BoardID) ([]*scoreboard.Board, error) {
	return nil, nil
}

func (s secretBoard) Named(
	ctx context.Context, id scoreboard.BoardID, private bool, _ time.Time,
) (*scoreboard.Board, error) {
	if private {
		return secret, nil
	}
	return s.PublicBoard(ctx, id)
}

func (s secretBoard) FindPublicBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	_, err := s.PublicBoard(ctx, id)
	return nil, err
}

func (secretBoard) FindBoard(context.Context, scoreboard.BoardID) (*scoreboard.Board, error) {
	return secret, nil
}

func (secretBoard) FindBoards(_ context.Context, f scoreboard.BoardFilter) ([]scoreboard.Board, error) {
	if f.Public {
		return nil, nil
	}
	return []scoreboard.Board{*secret}, nil
}

// Routes that show boards do not show a private one to a user, nor without a token:
// this API has no components that could.
func TestPrivateBoardsAreHidden(t *testing.T) {
	t.Parallel()
	a := everything(&trail{}, func(o *Options) { o.Catalog, o.Boards = secretBoard{}, secretBoard{} })
	a.Configure(Policy{AnonymousReads: true, TopN: 10})
	checked := 0
	for _, r := range a.handlers.routes() {
		if r.data != showsBoards || r.stream != nil { // the hub asks for each board
			continue
		}
		checked++
		for _, token := range []string{"", minted(t, a, "alice", "")} {
			ask := r
			if ask.path = strings.Replace(r.path, ":board", "secret", 1); slices.Contains(r.query, "board") {
				ask.path += "?board=secret"
			}
			got := asks(t, a, ask, "bob", token, `{"board":"secret","user_ids":["bob"]}`)
			if r.path == "/v1/boards" && token != "" {
				if got != http.StatusOK { // a list without it
					t.Errorf("%s: got %d, want 200", r.path, got)
				}
				continue
			}
			if r.path == pathMe && token != "" { // with others
				got = asks(t, a, route{method: r.method, path: ask.path + "&k=1"}, "", token, "")
			}
			want := http.StatusNotFound
			if token == "" && r.scope == anyToken {
				want = http.StatusUnauthorized
			}
			if got != want {
				t.Errorf("%s %s, with a token: %t: got %d, want %d", r.method, r.path, token != "", got, want)
			}
		}
	}
	if checked < 9 {
		t.Errorf("got %d routes that show boards, want at least 9", checked)
	}
}

// The pages of boards show a private one to nobody, not even to operators, and none that is
// not listed.
func TestPagesShowListedPublicBoardsOnly(t *testing.T) {
	t.Parallel()
	for name, listed := range map[string]Listing{"private": allListed{}, "unlisted": noneListed{}} {
		a := everything(&trail{}, func(o *Options) {
			o.Catalog, o.Pages = openBoard{}, listed
			if name == "private" {
				o.Catalog = secretBoard{}
			}
		})
		a.Configure(Policy{AnonymousReads: true, TopN: 10})
		checked := 0
		for _, r := range a.handlers.routes() {
			if r.data != showsListed || r.stream != nil { // the hub asks for the board
				continue
			}
			checked++
			if r.path == pathPages {
				continue // TestListOfBoards
			}
			for _, token := range []string{"", minted(t, a, "alice", ""), minted(t, a, "root", auth.ScopeAdmin)} {
				if got := asks(t, a, r, "bob", token, ""); got != http.StatusNotFound {
					t.Errorf("%s board, %s, with a token: %t: got %d, want 404", name, r.path, token != "", got)
				}
			}
		}
		if checked < 5 {
			t.Errorf("got %d routes of pages, want at least 5", checked)
		}
	}
}

// noneListed lists no boards.
type noneListed struct{ allListed }

func (noneListed) Lists(scoreboard.BoardID) bool { return false }

// A path with a slash at its end matches no route, like any other unknown path: with
// the same headers and the same form of error.
func TestTrailingSlash(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	for _, r := range a.handlers.routes() {
		if r.path == rootPath {
			continue
		}
		w := httptest.NewRecorder()
		path := strings.ReplaceAll(r.path, ":", "") + "/"
		a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), r.method, path, nil))
		h := w.Header()
		if w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed ||
			!strings.Contains(w.Body.String(), `"error_code"`) || h.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: got %d %s", r.method, path, w.Code, w.Body)
		}
		for _, name := range []string{
			"X-Request-Id", "Traceparent", "Content-Security-Policy", "X-Content-Type-Options", "Cache-Control",
		} {
			if h.Get(name) == "" {
				t.Errorf("%s %s: no %s", r.method, path, name)
			}
		}
	}
}

// A 405 names exactly the methods of the routes that match its path.
func TestAllowedMethods(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	if err := a.Mount(&Dialect{
		Name: "plain", Document: []byte("{}"),
		Error: func(status int, e *wire.Error) (int, any) { return status, e },
		Routes: []DialectRoute{
			{Method: "GET", Path: "/leaderboard/top", Access: AccessTop},
			{Method: "GET", Path: "/leaderboard/:user_id", Access: AccessUser},
			{Method: "POST", Path: "/scores", Access: AccessWrite},
		},
	}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/leaderboard/top": "GET, HEAD", "/leaderboard/alice": "GET, HEAD", pathTop: "GET, HEAD",
		pathRealtime: "GET", "/v1/actions": "POST",
		"/v1/users/alice/profile": "GET, HEAD, PUT", "/v1/users/a%2Fb/profile": "GET, HEAD, PUT",
		"/v1/boards/roll": "GET, HEAD, PATCH, POST",
	} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodDelete, path, nil))
		if got := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || got != want {
			t.Errorf("DELETE %s: got %d, Allow: %s, want 405, %s", path, w.Code, got, want)
		}
	}
}

// Every response, also a page, forbids to be framed.
func TestPagesAreNotFramed(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	for _, path := range []string{
		rootPath, docsPath, docsPath + "/api", openAPIPath, asyncAPIPath, pathTop, "/unknown",
	} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: got the policy %q", path, policy)
		}
	}
}
