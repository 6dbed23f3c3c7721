package server_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The user who hides, in nothing that others may see.
const (
	hiddenUser = "ghost-7f3a"
	hiddenName = "Casper Unseen"
)

// privacyRig is a node with every API and page, and boards in each state with the hidden user
// among others.
type privacyRig struct {
	*harness
	*node
	tokens map[string]http.Header // by what they are
	public time.Time              // when the user did not hide yet
}

func newPrivacyRig(t *testing.T) *privacyRig {
	t.Helper()
	h, n := dialectNode(t, "web-boards", "*", "limit-anonymous-per-minute", "0", "limit-address-per-minute", "0",
		"boards-close-grace", "1s", "realtime-connections-per-address", "0", "realtime-anonymous-per-address", "0")
	r := &privacyRig{harness: h, node: n, tokens: map[string]http.Header{
		"nobody's": nil, "a stranger's": bearer(h.token("bob", "", time.Hour)),
		"a friend's": bearer(h.token("ada", "", time.Hour)), "their own": bearer(h.token(hiddenUser, "", time.Hour)),
		"a server's":    bearer(h.token("game", auth.ScopeUpdate, time.Hour)),
		"an operator's": bearer(h.token("root", auth.ScopeAdmin, time.Hour)),
	}}
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ends := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: &ends,
	}); err != nil {
		t.Fatal(err)
	}
	submit := func(user, board string, delta int64) string {
		t.Helper()
		receipt, err := root.Submit(t.Context(), client.Increment{User: user, Board: board, Delta: delta})
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Board
	}
	for i, user := range []string{"ada", hiddenUser, "bob", "cyd", "dan"} {
		for _, board := range []string{"global", "cup", "highscore", "plain"} {
			submit(user, board, int64(100-i))
		}
	}
	for i := range 120 { // those beyond the head are on pages
		submit(fmt.Sprintf("user-%03d", i), "global", 50)
	}
	if _, err := root.PutProfile(t.Context(), hiddenUser, client.Profile{
		DisplayName: hiddenName, AvatarURL: "https://img.example/casper.png",
	}); err != nil {
		t.Fatal(err)
	}
	pairs := []client.FriendPair{{UserID: hiddenUser, FriendID: "ada"}}
	if _, err := root.ImportFriends(t.Context(), pairs); err != nil {
		t.Fatal(err)
	}
	status, _, body := request(t, http.MethodPost, n.URL+"/v1/boards/cup/roll",
		`{"season":"two","ends_at":"2099-01-01T00:00:00Z"}`, r.tokens["an operator's"])
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	h.await("the seal of the season", func() bool {
		_, _, page := request(t, http.MethodGet, n.URL+"/b/cup:one", "", nil)
		return strings.Contains(page, "sealed with SHA-256") && strings.Contains(page, hiddenName)
	})
	h.await("the ranking", func() bool {
		top, err := root.Top(t.Context(), client.TopQuery{})
		return err == nil && !top.Degraded && top.Total == 125 && top.Entries[1].DisplayName == hiddenName
	})
	r.public = time.Now()
	return r
}

func (r *privacyRig) hide(t *testing.T, visibility string) {
	t.Helper()
	status, _, body := request(t, http.MethodPut, r.node.URL+"/v1/users/"+hiddenUser+"/privacy",
		`{"visibility":"`+visibility+`"}`, r.tokens["their own"])
	if status != http.StatusOK {
		t.Fatalf("set the visibility %s: got %d %s", visibility, status, body)
	}
}

var (
	requestID = regexp.MustCompile(`"request_id":"[^"]*"|"age_ms":\d+|"as_?[oO]f":"[^"]*"`)
	parameter = regexp.MustCompile(`\{([a-z_]+)\}`)
)

// reads returns the paths of all reads of the native API and of the dialects that need no scope,
// with the hidden user and a board in them.
func (r *privacyRig) reads(t *testing.T) (paths []string) {
	t.Helper()
	documents := map[string]string{"": "/openapi.json"}
	for _, name := range config.DialectNames {
		documents[name] = "/openapi/" + name + ".json"
	}
	for dialect, document := range documents {
		_, _, body := request(t, http.MethodGet, r.node.URL+document, "", nil)
		var d struct {
			Servers []struct{ URL string }
			Paths   map[string]map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(body), &d); err != nil || len(d.Paths) == 0 {
			t.Fatalf("%s: %v", document, err)
		}
		base := ""
		if dialect != "" {
			base = strings.TrimSuffix(d.Servers[0].URL, "/")
		}
		for path, methods := range d.Paths {
			if methods["get"] == nil || strings.HasPrefix(path, "/v1/admin/") || strings.Contains(path, "export") {
				continue
			}
			for _, board := range []string{"global", "cup:one"} {
				paths = append(paths, base+parameter.ReplaceAllStringFunc(path, func(p string) string {
					switch p {
					case "{user_id}":
						return hiddenUser
					case "{board}":
						return board
					}
					return "x"
				}))
				if !strings.Contains(path, "{board}") {
					break
				}
			}
		}
	}
	at := "&at=" + time.Now().UTC().Add(-time.Millisecond).Format(time.RFC3339Nano)
	return append(paths, "/v1/leaderboard/top?limit=100", "/v1/leaderboard/top?limit=2", "/v1/leaderboard/top?limit=1",
		"/v1/leaderboard/top?board=cup:one", "/v1/leaderboard/top?limit=100"+at, "/v1/leaderboard/top?limit=2"+at,
		"/v1/leaderboard/me?k=5", "/v1/leaderboard/me?k=5"+at, "/v1/users/ada/rank?k=5", "/v1/users/ada/rank?k=2"+at,
		"/b/global/players/ada?k=5", "/b/global?player=ada", "/b/global?limit=100", "/b/global/top?limit=100",
		"/v1/scores/me/rank?k=5", "/v1/leaderboard/top?board=highscore", "/v1/leaderboard/top?board=plain",
		"/v1/leaderboard/friends")
}

// read returns what a caller is answered; of a stream, what it sends within a moment.
func (r *privacyRig) read(t *testing.T, path string, token http.Header) (int, string) {
	t.Helper()
	if strings.Contains(path, "realtime/leaderboard") || strings.HasPrefix(path, "/v1/realtime/pages/") ||
		strings.HasSuffix(path, "/stream") {
		return http.StatusOK, r.stream(t, path, token, 300*time.Millisecond)
	}
	status, _, body := request(t, http.MethodGet, r.node.URL+path, "", token)
	if next := regexp.MustCompile(`"next_cursor":"([^"]+)"`).FindStringSubmatch(body); next != nil {
		body += cursorText(next[1])
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		_, _, following := request(t, http.MethodGet, r.node.URL+path+separator+"cursor="+next[1], "", token)
		body += following
	}
	return status, body
}

// stream returns what an event stream sends within a time.
func (r *privacyRig) stream(t *testing.T, path string, token http.Header, within time.Duration) string {
	t.Helper()
	s := r.follow(t, path, token)
	time.Sleep(within)
	return s.end()
}

// followed is an event stream that is read all the time.
type followed struct {
	body io.Closer
	done chan struct{}
	mu   sync.Mutex
	text strings.Builder
}

func (r *privacyRig) follow(t *testing.T, path string, token http.Header) *followed {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.node.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range token {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // end closes it
	if err != nil {
		t.Fatal(err)
	}
	s := &followed{body: res.Body, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.mu.Lock()
			s.text.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
		}
	}()
	return s
}

// read returns what was read since the last call.
func (s *followed) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	s.text.Reset()
	return text
}

func (s *followed) end() string {
	_ = s.body.Close()
	<-s.done
	return s.read()
}

// No read, page or stream that strangers can open names a hidden user. The paths come from
// the documents of the APIs, so that a new one is walked too.
func TestNoReadNamesHiddenUser(t *testing.T) {
	t.Parallel()
	r := newPrivacyRig(t)
	paths := r.reads(t)
	named := func(token string) (found []string) {
		for _, path := range paths {
			if _, body := r.read(t, path, r.tokens[token]); strings.Contains(body, hiddenUser) ||
				strings.Contains(body, hiddenName) {
				found = append(found, path)
			}
		}
		return found
	}
	if found := named("a stranger's"); len(found) < 25 { // or the walk below shows nothing
		t.Errorf("while the user is public, %d of %d reads name them: %v", len(found), len(paths), found)
	}
	live := r.follow(t, "/v1/realtime/leaderboard?delta=1&limit=100", r.tokens["a stranger's"])
	h := r.harness
	h.await("the first frame", func() bool { return strings.Contains(live.read(), hiddenUser) })
	for _, visibility := range []string{"pseudonym", "friends", "private"} {
		live.read()
		r.hide(t, visibility)
		if visibility == "private" {
			r.checkPrivate(t)
		}
		for _, token := range []string{"nobody's", "a stranger's", "a server's"} {
			for _, path := range paths {
				status, body := r.read(t, path, r.tokens[token])
				if !strings.Contains(body, hiddenUser) && !strings.Contains(body, hiddenName) &&
					!strings.Contains(body, "casper.png") {
					continue
				}
				if !strings.Contains(path, hiddenUser) {
					t.Errorf("%s: %s with %s token names the user: %d %.600s", visibility, path, token, status, body)
					continue
				}
				if token == "a server's" {
					continue // servers may look everyone up
				}
				// A look-up of the user is answered as one of a user who does not exist.
				unknown := strings.ReplaceAll(path, hiddenUser, "void-00000")
				wantStatus, want := r.read(t, unknown, r.tokens[token])
				body = requestID.ReplaceAllString(strings.ReplaceAll(body, hiddenUser, "void-00000"), "")
				if want = requestID.ReplaceAllString(want, ""); status != wantStatus || body != want {
					t.Errorf("%s: %s with %s token: got %d %.300s, for an unknown user %d %.300s", visibility, path,
						token, status, body, wantStatus, want)
				}
			}
			_, _, list := request(t, http.MethodPost, r.node.URL+"/v1/leaderboard/users",
				`{"user_ids":["`+hiddenUser+`","ada","void-00000"]}`, r.tokens[token])
			if token == "a stranger's" && !strings.Contains(list, `"not_found":["`+hiddenUser+`","void-00000"]`) {
				t.Errorf("%s: the list of users: got %s", visibility, list)
			}
		}
		if text := live.read(); strings.Contains(text, hiddenUser) || strings.Contains(text, hiddenName) {
			t.Errorf("%s: a stream that was open names the user: %s", visibility, text)
		}
	}
	live.end()
}

// checkPrivate checks what is left of a user who has just left all boards, for the user, a
// friend, a server and everyone else.
func (r *privacyRig) checkPrivate(t *testing.T) {
	t.Helper()
	want := func(token, path string, status int, parts ...string) {
		t.Helper()
		got, _, body := request(t, http.MethodGet, r.node.URL+path, "", r.tokens[token])
		if got != status {
			t.Errorf("%s with %s token: got %d %s, want %d", path, token, got, body, status)
		}
		for _, part := range parts {
			if unwanted, not := strings.CutPrefix(part, "!"); not == strings.Contains(body, unwanted) {
				t.Errorf("%s with %s token: got %s, want %s", path, token, body, part)
			}
		}
	}
	// The ranks behind close up. Nothing has a pseudonym, which would tell that somebody is there.
	want("a stranger's", "/v1/leaderboard/top?limit=3", http.StatusOK, `"total":124`, `{"rank":2,"user_id":"bob"`, "!~")
	want("an operator's", "/v1/leaderboard/top?limit=3", http.StatusOK, `"total":124`, "!"+hiddenUser)
	want("nobody's", "/b/cup:one", http.StatusOK, "!~", "bob")
	want("a stranger's", "/v1/users/bob/rank?k=3", http.StatusOK, `"rank":2`, "!~")
	for _, token := range []string{"their own", "a server's", "a friend's", "an operator's"} {
		want(token, "/v1/users/"+hiddenUser+"/rank?k=1", http.StatusOK, `"rank":2,"total":125`, `"private":true`,
			`"version":null`, `"rank":1,"user_id":"ada"`, `"rank":3,"user_id":"bob"`)
	}
	want("their own", "/v1/leaderboard/me?min_version=1", http.StatusOK, `"score":99`, `"degraded":false`)
	want("their own", "/v1/leaderboard/friends", http.StatusOK, `"list_rank":2,"rank":2,"user_id":"`+hiddenUser)
	want("a friend's", "/v1/leaderboard/friends", http.StatusOK, `"list_rank":2,"rank":2,"user_id":"`+hiddenUser,
		`"private":true`, `"degraded":false`)
	want("their own", "/v1/users/"+hiddenUser+"/rank/explain", http.StatusNotFound, "is private and not on any board")
	want("their own", "/v1/users/"+hiddenUser+"/history?step=1h", http.StatusNotFound,
		"is private and not on any board")

	// The past does not show the user either, but to servers, under the pseudonym.
	past := "/v1/leaderboard/top?limit=3&at=" + r.public.UTC().Format(time.RFC3339Nano)
	want("a stranger's", past, http.StatusOK, `"total":124`, "!~", "!"+hiddenUser)
	want("a server's", past, http.StatusOK, `"total":125`, "~", "!"+hiddenUser)

	receipt, err := r.node.client(hiddenUser, "").Submit(t.Context(), client.Increment{User: hiddenUser, Delta: 1})
	if err != nil || receipt.NewScore != 100 || receipt.Rank == nil || *receipt.Rank != 2 {
		t.Errorf("an increment of a private user: %+v, %v; want 100 points and the rank that they would have",
			receipt, err)
	}
	want("their own", "/v1/leaderboard/me?min_version=2", http.StatusOK, `"score":100`, `"private":true`)
	want("a stranger's", "/v1/leaderboard/top?limit=3", http.StatusOK, `"total":124`, "!"+hiddenUser, "!~")

	backends.Connect(t, r.harness.postgres).Do(t, `update user_privacy
set returns = array_fill(clock_timestamp(), array[6]) where user_id = $1`, hiddenUser)
	status, header, body := request(t, http.MethodPut, r.node.URL+"/v1/users/"+hiddenUser+"/privacy",
		`{"visibility":"public"}`, r.tokens["their own"])
	if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" ||
		!strings.Contains(body, "rate_limited") {
		t.Errorf("back for the seventh time in an hour: got %d %s, want a later time", status, body)
	}
}

// cursorText is what a client can read in a cursor.
func cursorText(cursor string) string {
	b, _ := base64.RawURLEncoding.DecodeString(cursor)
	return string(b)
}

// shownTo is what strangers may know of a user at a time.
type shownTo struct {
	mu      sync.Mutex
	changes int
	hidden  bool
	private bool
	since   time.Time // of the response to the change
	node    int       // that answered it
}

// set records a change: visibility is "" until the response.
func (s *shownTo) set(visibility string, node int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	s.hidden, s.private = visibility != "" && visibility != "public", visibility == "private"
	s.since, s.node = time.Now(), node
}

// onNoBoard reports whether a read of a node that begins now must not have a row of the user, and
// the change that says so.
func (s *shownTo) onNoBoard(node int) (bool, int) {
	hidden, change := s.mustHide(node)
	s.mu.Lock()
	defer s.mu.Unlock()
	return hidden && s.private, change
}

// mustHide reports whether a read of a node that begins now must not name the user, and the
// change that says so.
func (s *shownTo) mustHide(node int) (bool, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hidden && (node == s.node || time.Since(s.since) > privacyDelay), s.changes
}

// privacyDelay is after which every node hides a user: a second, and what a busy machine adds.
const privacyDelay = 3 * time.Second

// While users change their visibility, on two nodes and beside writes, no read or stream names a
// hidden one: at once on the node that answered the change, on the other after the stated time.
func TestHiddenUsersOnTwoNodes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	nodes := []*node{h.start(allRoles), h.start("api,read,gateway")}
	root := nodes[0].client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	users := make([]string, 12)
	for i := range users {
		users[i] = fmt.Sprintf("player%02dx", i)
		if _, err := root.Submit(t.Context(), client.Increment{User: users[i], Delta: 1}); err != nil {
			t.Fatal(err)
		}
	}
	shown := make([]*shownTo, 5) // of the first users, who hide
	for i := range shown {
		shown[i] = &shownTo{}
	}
	for _, n := range nodes {
		h.await("the ranking", func() bool {
			top, err := n.client("stranger", "").Top(t.Context(), client.TopQuery{})
			return err == nil && !top.Degraded && top.Total == int64(len(users))
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 16*time.Second)
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() { // writes
		for i := 0; ctx.Err() == nil; i++ {
			user := users[rand.IntN(len(users))]
			if _, err := root.Submit(ctx, client.Increment{User: user, Delta: 1 + rand.Int64N(9)}); err != nil &&
				ctx.Err() == nil {
				t.Error(err)
			}
			time.Sleep(3 * time.Millisecond)
		}
	})
	for i, s := range shown {
		own := []*client.Client{nodes[0].client(users[i], ""), nodes[1].client(users[i], "")}
		work.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				at := rand.IntN(2)
				to := []string{"public", "friends", "pseudonym", "private"}[rand.IntN(4)]
				if n == 0 && i < 2 {
					to = "private" // at least two are, whatever is drawn
				}
				s.set("", at) // until the response
				kept, err := own[at].SetPrivacy(ctx, users[i], to)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				if err == nil && !kept.Pending {
					s.set(to, at)
				}
				wait := time.Duration(500+rand.IntN(4500)) * time.Millisecond
				if me, err := own[at].Me(ctx, client.PlaceQuery{Neighbours: 2}); err == nil {
					self := 0
					for _, e := range me.Neighbours {
						if e.UserID == users[i] {
							self++
						}
					}
					if me.UserID != users[i] || self != 1 {
						t.Errorf("%s sees %+v", users[i], me)
					}
				}
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
			}
		})
	}
	var reads, checked, closedUp atomic.Int64
	// absent returns the changes of users who must not have a row, −1 for the others.
	absent := func(node int) (changes []int) {
		for _, s := range shown {
			private, change := s.onNoBoard(node)
			if !private {
				change = -1
			}
			changes = append(changes, change)
		}
		return changes
	}
	// maxRows is how many rows a board may have that was read since before.
	maxRows := func(node int, before []int) int {
		rows := len(users)
		for i, change := range absent(node) {
			if change >= 0 && change == before[i] {
				rows--
			}
		}
		return rows
	}
	check := func(node int, what string, read func() string) {
		must := make([]int, len(shown))
		for i, s := range shown {
			must[i] = -1
			if hide, change := s.mustHide(node); hide {
				must[i] = change
			}
		}
		away := absent(node)
		text := read()
		reads.Add(1)
		if strings.HasPrefix(what, "/v1/leaderboard/top?limit=100") {
			rows := maxRows(node, away)
			if got := strings.Count(text, `"user_id":`); got > rows {
				t.Errorf("node %d: %d rows, at most %d users are on the board: %.900s", node, got, rows, text)
			}
			if rows < len(users) {
				closedUp.Add(1)
			}
		}
		for i, s := range shown {
			if _, change := s.mustHide(node); must[i] != change {
				continue
			}
			checked.Add(1)
			if strings.Contains(text, users[i]) {
				t.Errorf("node %d: %s names %s, who is hidden: %.900s", node, what, users[i], text)
			}
		}
	}
	stranger := bearer(h.token("stranger", "", time.Hour))
	for i, n := range nodes {
		for _, path := range []string{
			"/v1/leaderboard/top?limit=100", "/v1/leaderboard/top?limit=3", "/v1/users/" + users[11] + "/rank?k=11",
		} {
			work.Go(func() {
				for ctx.Err() == nil {
					check(i, path, func() string {
						_, _, body := request(t, http.MethodGet, n.URL+path, "", stranger)
						return body
					})
					time.Sleep(2 * time.Millisecond)
				}
			})
		}
		for _, query := range []string{"limit=100", "limit=10&delta=1"} {
			r := &privacyRig{harness: h, node: n}
			live := r.follow(t, "/v1/realtime/leaderboard?"+query, stranger)
			work.Go(func() {
				defer live.end()
				for ctx.Err() == nil {
					check(i, "a stream with "+query, func() string {
						time.Sleep(50 * time.Millisecond) // what was sent before the change has arrived
						live.read()
						time.Sleep(250 * time.Millisecond)
						return live.read()
					})
				}
			})
		}
		work.Go(func() { // a new stream begins with a state
			r := &privacyRig{harness: h, node: n}
			for ctx.Err() == nil {
				check(i, "a new stream", func() string {
					return r.stream(t, "/v1/realtime/leaderboard?limit=100", stranger, 100*time.Millisecond)
				})
			}
		})
	}
	for ctx.Err() == nil { // ranks stay consistent
		away := absent(0)
		top, err := root.Top(ctx, client.TopQuery{Limit: 100})
		if err != nil {
			break
		}
		for i, e := range top.Entries {
			if e.Rank != int64(i+1) || i > 0 && e.Score > top.Entries[i-1].Score || strings.HasPrefix(e.UserID, "~") {
				t.Errorf("an operator's row %d: %+v", i, e)
			}
		}
		if rows := maxRows(0, away); len(top.Entries) > rows || len(top.Entries) < len(users)-len(shown) {
			t.Errorf("an operator sees %d rows, want %d to %d", len(top.Entries), len(users)-len(shown), rows)
		}
		time.Sleep(5 * time.Millisecond)
	}
	work.Wait()
	t.Logf("%d reads, %d of a hidden user, %d beside a private one", reads.Load(), checked.Load(), closedUp.Load())
	if checked.Load() < 100 || closedUp.Load() < 100 {
		t.Errorf("only %d reads while a user was hidden, %d while one was private", checked.Load(), closedUp.Load())
	}
}
