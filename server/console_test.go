package server_test

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// visitor is a browser without scripts: it keeps cookies and follows redirects.
type visitor struct {
	t      testing.TB
	base   string
	client *http.Client
	header http.Header
}

func newVisitor(t testing.TB, base string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{
		t:      t,
		base:   base,
		client: &http.Client{Jar: jar, Timeout: awaitTimeout},
		header: http.Header{"User-Agent": {"a test"}},
	}
}

// do returns the status, the text of the last page and its path.
func (v *visitor) do(method, path string, form url.Values) (status int, body, at string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header = v.header.Clone()
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Request.URL.RequestURI()
}

func (v *visitor) get(path string) (status int, body, at string) {
	v.t.Helper()
	return v.do(http.MethodGet, path, nil)
}

// signIn signs in with a token.
func (v *visitor) signIn(token string) *visitor {
	v.t.Helper()
	if status, body, at := v.do(
		http.MethodPost,
		"/console/sign-in",
		url.Values{"token": {token}},
	); status != http.StatusOK ||
		strings.Contains(at, "sign-in") {
		v.t.Fatalf("sign in: got %d at %s: %s", status, at, body)
	}
	return v
}

// claimAdmin gives the visitor a session that claims the scope of administrators for any
// token, as only the master key can make it.
func (v *visitor) claimAdmin(master, token string) {
	v.t.Helper()
	keys, err := auth.ConsoleKeys([]string{master})
	if err != nil {
		v.t.Fatal(err)
	}
	block, err := aes.NewCipher(keys[0])
	if err != nil {
		v.t.Fatal(err)
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		v.t.Fatal(err)
	}
	plain, err := json.Marshal(map[string]any{
		"id": "x", "token": token, "user": "vera", "scopes": []string{auth.ScopeAdmin},
		"expires": time.Now().Add(time.Hour),
	})
	if err != nil {
		v.t.Fatal(err)
	}
	at, err := url.Parse(v.base)
	if err != nil {
		v.t.Fatal(err)
	}
	v.client.Jar.SetCookies(at, []*http.Cookie{{
		Name:  "scoreboard-console",
		Value: base64.RawURLEncoding.EncodeToString(sealer.Seal(nil, nil, plain, []byte("session"))),
	}})
}

var formToken = regexp.MustCompile(`name="form_token" value="([0-9a-f]{64})"`)

// token returns the form token of the visitor's session.
func (v *visitor) token() string {
	v.t.Helper()
	_, body, _ := v.get("/console/boards")
	found := formToken.FindStringSubmatch(body)
	if found == nil {
		v.t.Fatalf("no form token in %s", body)
	}
	return found[1]
}

// change makes a change as the form does: with a reason, first reviewed, then applied.
func (v *visitor) change(name string, values url.Values, step string) (status int, body, at string) {
	v.t.Helper()
	form := url.Values{"form_token": {v.token()}, "reason": {"why"}, "step": {step}}
	for key, value := range values {
		form[key] = value
	}
	return v.do(http.MethodPost, "/console/changes/"+name, form)
}

func TestConsoleSignIn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-dev-issuer", "true", "console-dev-sign-in", "true")
	v := newVisitor(t, n.Ops)
	if _, body, at := v.get(
		"/console/boards?sort=board",
	); !strings.Contains(
		at,
		"sign-in?to=%2Fconsole%2Fboards%3Fsort",
	) ||
		!strings.Contains(body, "Sign in for development") {
		t.Errorf("without a session: got %s, %s", at, body)
	}
	if _, body, at := v.get("/console/nothing"); !strings.Contains(at, "/console/sign-in?to=") ||
		strings.Contains(body, "menu") {
		t.Errorf("an unknown page without a session: got %s, %s", at, body)
	}
	for name, c := range map[string]struct{ token, want string }{
		"empty":   {"", "The token is missing"},
		"wrong":   {"abc", "does not accept this token"},
		"expired": {h.token("root", auth.ScopeAdmin, -time.Hour), "does not accept this token"},
		"long":    {strings.Repeat("a", 3000), "too long"},
	} {
		status, body, _ := v.do(http.MethodPost, "/console/sign-in", url.Values{"token": {c.token}})
		if status != http.StatusUnauthorized || !strings.Contains(body, c.want) {
			t.Errorf("a token that is %s: got %d %s, want %q", name, status, body, c.want)
		}
	}
	development := url.Values{"method": {"development"}, "to": {"/console/keys"}}
	if status, body, at := v.do(http.MethodPost, "/console/sign-in", development); status != http.StatusOK ||
		at != "/console/keys" || !strings.Contains(body, "Create key") {
		t.Errorf("the sign-in of development: got %d at %s: %s", status, at, body)
	}
	if status, _, at := v.do(
		http.MethodPost,
		"/console/sign-out",
		url.Values{"form_token": {v.token()}},
	); status != 200 ||
		!strings.Contains(at, "sign-in?signed-out") {
		t.Errorf("sign out: got %d at %s", status, at)
	}
	if _, _, at := v.get("/console/keys"); !strings.Contains(at, "sign-in") {
		t.Errorf("after signing out: got %s", at)
	}

	// Where it is off, no form can have a token issued.
	off := h.start("api", "auth-dev-issuer", "true")
	if status, body, _ := newVisitor(t, off.Ops).do(http.MethodPost, "/console/sign-in", development); status != 401 ||
		strings.Contains(body, "development") {
		t.Errorf("the sign-in of development without the setting: got %d %s", status, body)
	}
}

// Every node accepts a session, its cookie is bound as tightly as browsers can, and the
// setting decides where the console is.
func TestConsoleSessionCookie(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.settings["console-url"], h.settings["console-addr"] = "https://ops.example", "main"
	one, two := h.start(allRoles), h.start("api")
	if status, _ := h.get(t, one.Ops+"/console", nil); status != http.StatusNotFound {
		t.Errorf("the console at the operations address: got %d, want 404", status)
	}
	ask := func(n *node, method, path, cookie string, form url.Values) (int, []*http.Cookie) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, n.URL+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "ops.example"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode, res.Cookies()
	}
	token := h.token("root", auth.ScopeAdmin, time.Hour)
	status, cookies := ask(one, http.MethodPost, "/console/sign-in", "", url.Values{"token": {token}})
	if len(cookies) != 1 {
		t.Fatalf("got %d and the cookies %v", status, cookies)
	}
	k := cookies[0]
	if k.Name != "__Host-scoreboard-console" || !k.Secure || !k.HttpOnly || k.SameSite != http.SameSiteStrictMode ||
		k.Path != "/" || k.Domain != "" || k.MaxAge > 3600 || k.MaxAge < 3500 {
		t.Errorf("got the cookie %+v", k)
	}
	if strings.Contains(k.Value, token[:40]) {
		t.Error("the cookie shows the token")
	}
	if status, _ := ask(two, http.MethodGet, "/console/keys", k.Name+"="+k.Value, nil); status != http.StatusOK {
		t.Errorf("another node answers %d", status)
	}
	if status, _ := ask(two, http.MethodGet, "/console/keys", "scoreboard-console="+k.Value, nil); status != 303 {
		t.Errorf("without the prefix of secure cookies: got %d, want a redirect to the sign-in", status)
	}
}

// Every change of the console is reviewed with its command, leaves one audit entry with
// the reason, the client and the id of the request, and needs the scope of the API: what the
// console leaves to administrators, the API rejects from an operator, and an operator
// applies the rest.
func TestConsoleChanges(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	master := strings.Repeat("ab", 32)
	n := h.start(allRoles, "auth-dev-issuer", "true", "auth-master-key", master)
	db := backends.Connect(t, h.postgres)
	key := furnish(t, n, db)
	root := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour))
	operator := newVisitor(t, n.Ops).signIn(h.token("olga", auth.ScopeOperate, time.Hour))
	liar := newVisitor(t, n.Ops)
	liar.claimAdmin(master, h.token("olga", auth.ScopeOperate, time.Hour))
	viewer := newVisitor(t, n.Ops).signIn(h.token("vera", "", time.Hour))
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	form := func(pairs ...string) url.Values {
		v := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v
	}
	cases := []struct {
		name           string
		form           url.Values
		action, target string // of the audit entry
		command, shows string // in the review; after it is applied
	}{
		{
			"adjust", form("user", "alice", "board", "global", "delta", "7", "event", "console-1"), "user.adjust",
			"user:alice", "user adjust alice --board global --delta 7 --event-id console-1", "The score is adjusted",
		},
		{
			"adjust", form("user", "alice", "board", "pairs", "delta", "0", "subscore", "-2", "event", "console-2"),
			"user.adjust", "user:alice",
			"user adjust alice --board pairs --delta 0 --subscore -2 --event-id console-2", "The score is adjusted",
		},
		{
			"reverse", form("user", "alice", "event", "first"), "event.reverse", "user:alice",
			"event reverse first --user alice", "The event is reversed",
		},
		{"user-ban", form("user", "vera"), "user.ban", "user:vera", "user ban vera", "The user is banned"},
		{"user-unban", form("user", "vera"), "user.unban", "user:vera", "user unban vera", "no longer banned"},
		{"user-freeze", form("user", "vera"), "user.freeze", "user:vera", "user freeze vera", "The user is frozen"},
		{"user-unfreeze", form("user", "vera"), "user.unfreeze", "user:vera", "user unfreeze vera", "no longer frozen"},
		{"user-erase", form("user", "carl"), "user.erase", "user:erased-", "user erase carl", ""},
		{
			"board-create",
			form("board", "fresh", "mode", "best", "visibility", "private", "partitions", "2"),
			"board.create",
			"board:fresh",
			"board create fresh --mode best --private --partitions 2",
			"The board is created",
		},
		{
			"board-label", form("board", "fresh", "region", "eu", "platform", "pc", "tags", "duel, ranked"),
			"board.set",
			"board:fresh", "board set fresh --region eu --platform pc --tag duel,ranked", "The board is changed",
		},
		{
			"board-partitions", form("board", "fresh", "partitions", "4"), "board.set", "board:fresh",
			"board set fresh --partitions 4", "The board is changed",
		},
		{
			"board-attempts", form("board", "fresh", "attempts", "3"), "board.set", "board:fresh",
			"board set fresh --attempts 3", "The board is changed",
		},
		{
			"board-tiers", form("board", "fresh", "tiers", "gold=rank:10"), "board.set", "board:fresh",
			"board set fresh --tiers gold=rank:10", "The board is changed",
		},
		{
			"board-metadata", form("board", "fresh", "metadata", "self"), "board.set", "board:fresh",
			"board set fresh --metadata self", "The board is changed",
		},
		{
			"board-subscore", form("board", "pairs", "min_subscore", "-20", "max_subscore", "20"), "board.set",
			"board:pairs", "board set pairs --min-subscore -20 --max-subscore 20", "The board is changed",
		},
		{
			"board-appearance",
			form("board", "fresh", "title", "Ring of fire", "description", "Best lap.", "color", "#D55E00"),
			"board.set",
			"board:fresh",
			"board set fresh --title 'Ring of fire' --description 'Best lap.' --color '#D55E00' --image ''",
			"The board is changed",
		},
		{
			"board-join",
			form("board", "cup", "join", "required", "max_players", "64", "late_join", "no"),
			"board.set",
			"board:cup",
			"board set cup --join required --max-players 64 --late-join=false",
			"The board is changed",
		},
		{
			"player-add", form("board", "open:spring", "user", "alice"), "player.add", "user:alice",
			"tournament add open:spring alice", "The user has joined the period",
		},
		{
			"player-remove", form("board", "open:spring", "user", "alice"), "player.remove", "user:alice",
			"tournament remove open:spring alice", "The user is removed from the period",
		},
		{
			"reward-grant", form("board", "cup:zero", "user", "yan", "reward", `{"gems":5}`), "reward.grant",
			"user:yan",
			`reward grant yan --board cup:zero --reward '{"gems":5}'`, "The reward is granted",
		},
		{
			"reward-revoke", form("board", "cup:zero", "id", "1"), "reward.revoke", "user:zed", "reward revoke 1",
			"The reward is revoked",
		},
		{"board-freeze", form("board", "fresh"), "board.freeze", "board:fresh", "board freeze fresh", "is frozen"},
		{"board-unfreeze", form("board", "fresh"), "board.unfreeze", "board:fresh", "board unfreeze fresh", "again"},
		{
			"board-require",
			form("board", "fresh", "require", "action-token", "action_min", "30s"),
			"board.set",
			"board:fresh",
			"board set fresh --require action-token --action-min 30s",
			"The board is changed",
		},
		{"board-archive", form("board", "fresh"), "board.archive", "board:fresh", "board archive fresh", "is archived"},
		{
			"board-roll",
			form("board", "cup", "season", "two", "ends", "2099-01-01T00:00:00Z"),
			"board.roll",
			"board:cup",
			"board roll cup --season two --ends 2099-01-01T00:00:00Z",
			"rolled over",
		},
		{"letter-requeue", form("id", "1"), "letter.requeue", "letter:1", "dlq requeue 1", "processed again"},
		{"letter-drop", form("id", "2"), "letter.drop", "letter:2", "dlq drop 2", "is deleted"},
		{"flag-dismiss", form("id", "1"), "flag.dismiss", "flag:1", "flag dismiss 1", "is dismissed"},
		{"flag-confirm", form("id", "2"), "flag.confirm", "flag:2", "flag confirm 2", "is confirmed"},
		{
			"void-create",
			form("by", "address", "sender", "192.0.2.1", "from", at(-time.Hour), "to", at(0)),
			"void.create",
			"void:",
			"event void --address 192.0.2.1",
			"The void has started",
		},
		{"void-undo", form("id", "1"), "void.undo", "void:1", "event unvoid 1", "being undone"},
		{
			"key-create", form("name", "game", "boards", "arena, cup", "per_minute", "60"), "key.create", "key:",
			"key create --name game --board arena --board cup --per-minute 60", "sk_",
		},
		{
			"key-rotate",
			form("key", key, "overlap", "1h"),
			"key.rotate",
			"key:" + key,
			"key rotate " + key + " --overlap 1h",
			"sk_",
		},
		{"key-revoke", form("key", key), "key.revoke", "key:" + key, "key revoke " + key, "The key is revoked"},
		{
			"setting-set", form("name", "reads.top_n", "value", "7"), "setting.set", "setting:reads.top_n",
			"settings set reads.top_n 7", "The setting is changed",
		},
		{
			"setting-reset", form("name", "reads.top_n"), "setting.set", "setting:reads.top_n",
			"settings set --reset reads.top_n", "deployed value again",
		},
		{
			"webhook-create",
			form("url", "https://example.com/hook", "types", "user.flagged, season.closed", "boards", "arena"),
			"webhook.create", "webhook:wh_",
			"webhook create --url https://example.com/hook --type user.flagged --type season.closed --board arena",
			"whsec_",
		},
		{
			"webhook-rotate", form("webhook", "wh_1", "overlap", "1h"), "webhook.rotate", "webhook:wh_1",
			"webhook rotate wh_1 --overlap 1h", "whsec_",
		},
		{
			"webhook-enable", form("webhook", "wh_1"), "webhook.enable", "webhook:wh_1", "webhook enable wh_1",
			"The webhook is enabled",
		},
		{
			"webhook-test", form("webhook", "wh_2"), "webhook.test", "webhook:wh_2", "webhook test wh_2",
			"The message is queued",
		},
		{
			"webhook-retry", form("webhook", "wh_1", "delivery", "1000"), "webhook.retry", "webhook:wh_1",
			"webhook retry wh_1 1000", "The message is queued",
		},
		{
			"webhook-delete", form("webhook", "wh_2"), "webhook.delete", "webhook:wh_2", "webhook delete wh_2",
			"The webhook is deleted",
		},
		{
			"import", form("board", "global", "source", "old", "file", "user_id,score\nzoe,5", "file_name", "old.csv"),
			"import.start", "board:global", "import csv old.csv --board global --source old",
			"The board matches the file",
		},
		{"job-stop", form("id", "1000"), "job.stop", "job:1000", "job stop 1000", "The job is being stopped"},
		{"replay", form("start", "the dead letters"), "ranking.replay", "ranking:*", "replay --dlq", "Already applied"},
		{"rebuild", form("board", "global"), "ranking.rebuild", "board:global", "rebuild --board global", "Rebuilt"},
		{
			"reconcile", form("board", "global"), "ranking.reconcile", "board:global",
			"reconcile --repair --board global", "No difference",
		},
		{"verify", form("board", "global"), "", "", "verify --board global", "No difference"},
	}
	listed, err := os.ReadFile("http/console/testdata/changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(listed)) {
		name, _, _ := strings.Cut(line, "\t")
		found := false
		for _, c := range cases {
			found = found || c.name == name
		}
		if !found {
			t.Errorf("the change %s is not tested", name)
		}
	}
	admin := map[string]bool{
		"adjust": true, "reverse": true, "user-erase": true, "board-create": true, "board-require": true,
		"board-archive": true, "board-roll": true, "letter-drop": true, "void-create": true, "void-undo": true,
		"key-create": true, "key-rotate": true, "key-revoke": true, "setting-set": true, "setting-reset": true,
		"webhook-create": true, "webhook-rotate": true,
		"webhook-delete": true, "import": true, "board-label": true,
		"board-partitions": true, "board-attempts": true, "board-tiers": true, "board-metadata": true,
		"board-join": true, "board-appearance": true, "board-subscore": true,
	}
	entries := func() int64 { return db.Count(t, `select count(*) from audit_log`) }
	for _, c := range cases {
		before := entries()
		if status, body, _ := viewer.change(c.name, c.form, "apply"); status != http.StatusForbidden {
			t.Errorf("%s by a viewer: got %d %s", c.name, status, body)
		}
		if status, body, _ := viewer.get("/console/changes/" + c.name + "?" + c.form.Encode()); status != 403 {
			t.Errorf("the form of %s for a viewer: got %d %s", c.name, status, body)
		}
		by, who := operator, "olga"
		if admin[c.name] {
			by, who = root, "root"
			if status, body, _ := operator.change(c.name, c.form, "apply"); status != http.StatusForbidden ||
				!strings.Contains(body, "requires the scope score:admin") {
				t.Errorf("%s by an operator: got %d %s", c.name, status, body)
			}
			if status, body, _ := liar.change(c.name, c.form, "apply"); status != http.StatusForbidden ||
				!strings.Contains(body, "lacks the scope score:admin") {
				t.Errorf("%s by an operator who claims to be more: got %d %s", c.name, status, body)
			}
		}
		if status, body, _ := by.get("/console/changes/" + c.name + "?" + c.form.Encode()); status != http.StatusOK ||
			!strings.Contains(body, `name="reason"`) {
			t.Errorf("the form of %s: got %d %s", c.name, status, body)
		}
		without := url.Values{"reason": {" "}}
		for key, value := range c.form {
			without[key] = value
		}
		if status, body, _ := by.change(c.name, without, "apply"); status != http.StatusUnprocessableEntity ||
			!strings.Contains(body, "The reason is missing") {
			t.Errorf("%s without a reason: got %d %s", c.name, status, body)
		}
		status, body, _ := by.change(c.name, c.form, "review")
		if status != http.StatusOK || !strings.Contains(html.UnescapeString(body), "sbctl "+c.command) ||
			!strings.Contains(body, `value="apply"`) {
			t.Errorf("the review of %s: got %d %s, want the command %s", c.name, status, body, c.command)
		}
		if got := entries(); got != before {
			t.Errorf("%s: %d audit entries before it was applied", c.name, got-before)
		}
		status, body, where := by.change(c.name, c.form, "apply")
		if strings.Contains(body, "data-refresh") && c.name != "job-stop" { // its job is of no node
			h.await("the job to end", func() bool {
				status, body, _ = by.get(where)
				return strings.Contains(body, `data-refresh=""`)
			})
		}
		if c.name != "user-erase" && (status != http.StatusOK || !strings.Contains(body, c.shows)) {
			t.Errorf("%s: got %d at %s, want %q: %s", c.name, status, where, c.shows, body)
		}
		want := int64(1)
		if c.action == "" {
			want = 0
		}
		if got := db.Count(t, `select count(*) from audit_log where action = $1 and starts_with(target, $2)
			and who = $4 and reason = 'why' and address = '127.0.0.1' and user_agent = 'a test' and request_id <> ''
			and id > (select coalesce(max(id), 0) - $3 from audit_log)`, c.action, c.target, entries()-before, who,
		); got != want {
			t.Errorf("%s left %d audit entries, want %d", c.name, got, want)
		}
	}
	if n := db.Count(t, `select count(*) from users where user_id = 'carl' and status <> 'erased'`); n != 0 {
		t.Error("carl was not erased")
	}
}

// A change needs the token of its session's form, and no other site can send it. What the
// console does not offer, the API rejects.
func TestConsoleForgery(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	master := strings.Repeat("ab", 32)
	forged := h.start("api", "auth-master-key", master)
	db := backends.Connect(t, h.postgres)
	furnish(t, n, db)
	token := h.token("root", auth.ScopeAdmin, time.Hour)
	root, other := newVisitor(t, n.Ops).signIn(token), newVisitor(t, n.Ops).signIn(token)
	good := url.Values{"form_token": {root.token()}, "reason": {"why"}, "step": {"apply"}, "user": {"alice"}}
	change := func(key, value string) url.Values {
		form := url.Values{}
		for k, v := range good {
			form[k] = v
		}
		form.Set(key, value)
		return form
	}
	const path = "/console/changes/user-ban"
	for name, form := range map[string]url.Values{
		"without a token":           change("form_token", ""),
		"with a token of a session": change("form_token", other.token()),
		"with an invented token":    change("form_token", strings.Repeat("0", 64)),
	} {
		if status, _, _ := root.do(http.MethodPost, path, form); status != http.StatusForbidden {
			t.Errorf("a form %s: got %d, want 403", name, status)
		}
	}
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}},
		{"Sec-Fetch-Site": {"same-site"}},
		{"Origin": {"https://evil.example"}},
		{"Origin": {"null"}},
	} {
		v := &visitor{t: t, base: root.base, client: root.client, header: header}
		if status, _, _ := v.do(http.MethodPost, path, good); status != http.StatusForbidden {
			t.Errorf("a form with %v: got %d, want 403", header, status)
		}
	}
	if n := db.Count(t, `select count(*) from users where user_id = 'alice' and status = 'banned'`); n != 0 {
		t.Fatal("a forged form banned alice")
	}
	if status, body, _ := root.do(http.MethodGet, path+"?"+good.Encode(), nil); status != http.StatusOK ||
		db.Count(t, `select count(*) from users where user_id = 'alice' and status = 'banned'`) != 0 {
		t.Errorf("a GET of the form: got %d %s", status, body)
	}

	// Whoever had the key of the sessions could claim a scope, but not have it.
	liar := newVisitor(t, forged.Ops)
	liar.claimAdmin(master, h.token("vera", "", time.Hour))
	status, body, _ := liar.change("user-ban", url.Values{"user": {"alice"}}, "apply")
	if status != http.StatusForbidden || !strings.Contains(body, "lacks the scope score:operate") {
		t.Errorf("a claimed scope: got %d %s, want the API's rejection", status, body)
	}

	if status, body, _ := root.do(http.MethodPost, path, good); status != http.StatusOK ||
		!strings.Contains(body, "The user is banned") {
		t.Errorf("the good form: got %d %s", status, body)
	}
}

// A viewer sees boards and players, and is offered no change and no other page.
func TestConsoleViewer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	db := backends.Connect(t, h.postgres)
	furnish(t, n, db)
	v := newVisitor(t, n.Ops).signIn(h.token("alice", "", time.Hour))
	for path, want := range map[string]int{
		"/console": 200, "/console/boards": 200, "/console/boards/global": 200, "/console/players": 200,
		"/console/players/alice": 200, "/console/audit": 403, "/console/keys": 403, "/console/settings": 403,
		"/console/dead-letters": 403, "/console/integrity": 403, "/console/webhooks": 403,
		"/console/jobs": 403, "/console/imports": 403, "/console/imports/1": 403, "/console/players?name=a": 403,
		"/console/webhooks/wh_1":        403,
		"/console/players/alice/export": 403,
		"/console/overview/data":        403, "/console/jobs/x": 403, "/console/nothing": 404,
		"/console/boards/nothing": 404, "/console/players/nobody": 404,
	} {
		status, body, at := v.get(path)
		if status != want {
			t.Errorf("%s: got %d at %s, want %d", path, status, at, want)
		}
		if strings.Contains(body, "/console/changes/") || strings.Contains(body, `href="/console/keys"`) {
			t.Errorf("%s offers a viewer what only operators may do", path)
		}
		if want >= 400 && path != "/console/overview/data" && !strings.Contains(body, `role="alert"`) {
			t.Errorf("%s: no message in %s", path, body)
		}
	}
	// The pages above have changes for others, so the check can fail. An operator is not
	// offered what needs an administrator.
	root := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour))
	operator := newVisitor(t, n.Ops).signIn(h.token("olga", auth.ScopeOperate, time.Hour))
	for path, c := range map[string]struct{ operators, admins string }{
		"/console/boards":        {"/console/boards/global", "changes/board-create"},
		"/console/boards/global": {"changes/board-freeze", "changes/board-archive"},
		"/console/players/alice": {"changes/user-ban", "changes/user-erase"},
		"/console/keys":          {"Export all", "changes/key-create"},
		"/console/settings":      {"reads.top_n", "changes/setting-set"},
		"/console/integrity":     {"changes/verify", "changes/void-create"},
		"/console/jobs":          {"changes/replay", ""},
		"/console/imports":       {"Last event", "changes/import"},
		"/console/audit":         {"Export all", ""},
		"/console/webhooks":      {"wh_1", "changes/webhook-create"},
		"/console/webhooks/wh_1": {"changes/webhook-retry", "changes/webhook-delete"},
	} {
		for role, v := range map[string]*visitor{"operator": operator, "administrator": root} {
			status, body, _ := v.get(path)
			if status != http.StatusOK || !strings.Contains(body, c.operators) {
				t.Errorf("%s for an %s: got %d, want %s in %s", path, role, status, c.operators, body)
			}
			if c.admins != "" && strings.Contains(body, c.admins) != (role == "administrator") {
				t.Errorf("%s offers an %s the wrong changes: %s", path, role, body)
			}
		}
	}
	var recorded time.Time
	if err := db.QueryRow(t.Context(), `select recorded_at from user_score_histories where user_id = 'alice'
		order by recorded_at limit 1`).Scan(&recorded); err != nil {
		t.Fatal(err)
	}
	event := "/console/players/alice/events/first?" + url.Values{
		"board": {"global"}, "at": {recorded.UTC().Format(time.RFC3339Nano)},
	}.Encode()
	for role, v := range map[string]*visitor{"operator": operator, "administrator": root} {
		status, body, _ := v.get(event)
		for _, stage := range []string{"Accepted", "Recorded", "Published", "Ranked"} {
			if status != http.StatusOK || !strings.Contains(body, stage) {
				t.Errorf("an event for an %s: got %d without the stage %s", role, status, stage)
			}
		}
	}
	if status, body, _ := operator.get("/console/players/alice/export"); status != http.StatusForbidden ||
		!strings.Contains(body, "lacks the scope score:admin") {
		t.Errorf("an operator's export of a player: got %d %s", status, body)
	}
}

// Every page leads to the documentation about it, which the console's own address serves.
func TestConsoleLinksTheDocs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	root := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour))
	guide := regexp.MustCompile(`href="(/docs/[a-z-]+)">Guide<`)
	found := map[string]bool{}
	_, menu, _ := root.get("/console")
	for _, m := range regexp.MustCompile(`<a href="(/console[a-z/-]*)"`).FindAllStringSubmatch(menu, -1) {
		_, body, _ := root.get(m[1])
		link := guide.FindStringSubmatch(body)
		if link == nil {
			t.Errorf("%s has no guide", m[1])
			continue
		}
		if status, page, _ := root.get(link[1]); status != http.StatusOK || !strings.Contains(page, "<h1") {
			t.Errorf("%s of %s: got %d %.200s", link[1], m[1], status, page)
		}
		found[link[1]] = true
	}
	if len(found) < 9 {
		t.Errorf("the pages lead to %v, want at least 9 pages", found)
	}
	for _, path := range []string{"/docs", "/docs/api", "/openapi.json", "/docs/style.css"} {
		if status, _, _ := root.get(path); status != http.StatusOK {
			t.Errorf("%s: got %d", path, status)
		}
	}
	if status, _, _ := root.get("/v1/leaderboard/top"); status != http.StatusNotFound {
		t.Errorf("the API on the operations address: got %d, want 404", status)
	}
}

// Tables are filtered, sorted and paged by their address, and exported as a whole.
func TestConsoleTables(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	db := backends.Connect(t, h.postgres)
	furnish(t, n, db)
	db.Do(t, `insert into dead_letters (topic, partition, record_offset, value, reason, attempts)
		select 'bulk', 0, n, '{"a":1}', '=HYPERLINK("x")', n from generate_series(1, 240) as n`)
	root := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour))
	_, body, _ := root.get("/console/boards?status=frozen")
	if !strings.Contains(body, `href="/console/boards/frozen"`) ||
		strings.Contains(body, `href="/console/boards/arena"`) {
		t.Errorf("the filter by status shows %s", body)
	}
	order := func(path string) string {
		t.Helper()
		_, body, _ := root.get(path)
		var out []string
		rows := regexp.MustCompile(`<td class=""><a href="/console/boards/([a-z]+)">`)
		for _, m := range rows.FindAllStringSubmatch(body, -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	if up, down := order("/console/boards?sort=board"), order("/console/boards?sort=board&order=desc"); up == down ||
		!strings.HasPrefix(up, "arena clans cup days frozen global") || !strings.HasSuffix(down, "cup clans arena") {
		t.Errorf("sorted: %s; descending: %s", up, down)
	}
	_, body, _ = root.get("/console/dead-letters")
	next := regexp.MustCompile(`href="([^"]*after=[^"]*)">Next page`).FindStringSubmatch(body)
	if next == nil || strings.Count(body, "<tr>") != 101 {
		t.Fatalf("no second page in %s", body)
	}
	_, second, _ := root.get(html.UnescapeString(next[1]))
	if strings.Count(second, "<tr>") != 101 || !strings.Contains(second, "First page") || second == body {
		t.Errorf("the second page is %s", second)
	}
	// What ends a dead letter or decides a flag is beside it, and a filter that hides all rows says so.
	for path, wants := range map[string][]string{
		"/console/dead-letters": {"letter-requeue?id=1", "letter-drop?id=1", "Remove the cause"},
		"/console/integrity": {
			"flag-dismiss?id=2", "flag-confirm?id=2", "Dismiss what is harmless",
		},
		"/console/integrity?state=dismissed": {"Nothing matches the filter."},
		"/console/jobs":                      {`<td class="ref"><a href="/console/jobs/1000">1000</a>`, "Runtime"},
		"/console/webhooks/wh_1": {
			`<td class="ref"><bdi>1000</bdi>`, `<span class="only-heard">Actions`,
		},
		"/console/boards/global":                  {"highest first", "<dt>Score range</dt><dd><bdi>any</bdi>"},
		"/console/dead-letters?sort=id&order=asc": {`aria-sort="ascending"`},
	} {
		_, body, _ := root.get(path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q: %s", path, want, body)
			}
		}
	}
	status, lines, _ := root.get("/console/dead-letters?export=ndjson")
	if status != http.StatusOK || strings.Count(lines, "\n") != 242 {
		t.Errorf("the NDJSON has %d lines, want all 242", strings.Count(lines, "\n"))
	}
	_, lines, _ = root.get("/console/dead-letters?export=csv")
	if strings.Count(lines, "\n") != 243 || !strings.Contains(lines, `"'=HYPERLINK(""x"")"`) {
		t.Errorf("the CSV has %d lines, want 243, without formulas: %s", strings.Count(lines, "\n"), lines)
	}
}

// A job goes on when its page is left, its address names it, and it can be stopped.
func TestConsoleJobSurvivesReload(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	db := backends.Connect(t, h.postgres)
	furnish(t, n, db)
	root := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour))
	// The job waits for this lock, so that it runs while the page is read twice.
	lock := backends.Connect(t, h.postgres)
	lock.Do(t, `begin`)
	lock.Do(t, `lock table user_score_histories in access exclusive mode`)
	_, _, first := root.change("verify", url.Values{"board": {"global"}}, "apply")
	for range 2 {
		if status, body, _ := root.get(first); status != http.StatusOK || !strings.Contains(body, ">running<") {
			t.Errorf("the job at %s: got %d %s", first, status, body)
		}
	}
	_, _, stopped := root.change("verify", url.Values{"board": {"global"}}, "apply")
	if _, body, _ := root.change("verify", url.Values{"board": {"global"}}, "apply"); body == "" {
		t.Error("no answer to a third job")
	}
	if _, body, _ := root.change("job-stop", url.Values{"id": {path.Base(stopped)}}, "apply"); !strings.Contains(body,
		"being stopped") {
		t.Errorf("stop: got %s", body)
	}
	h.await("the job to stop", func() bool {
		_, body, _ := root.get(stopped)
		return strings.Contains(body, ">stopped<")
	})
	lock.Do(t, `commit`)
	h.await("the job to end", func() bool {
		_, body, _ := root.get(first)
		return strings.Contains(body, "No difference.")
	})
	if _, body, _ := root.get("/console/integrity"); !strings.Contains(body, first) {
		t.Error("the integrity page does not list the job")
	}
}

// Texts of players, clients and operators are shown as texts.
func TestConsoleShowsTextsAsTexts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	db := backends.Connect(t, h.postgres)
	furnish(t, n, db)
	const attack = `"><script>window.hit=1</script><img src=x onerror=window.hit=1>`
	db.Do(t, `update dead_letters set reason = $1, value = convert_to($1, 'utf8'), topic = $1`, attack)
	db.Do(t, `update flags set detail = $1`, attack)
	db.Do(t, `update keys set name = $1`, attack)
	db.Do(t, `update webhooks set url = $1, disabled_reason = $1 where webhook_id = 'wh_1'`, attack)
	db.Do(t, `update webhook_deliveries set problem = $1, message_id = $1`, attack)
	const name = `"><script>window.hit=1</script>` // as long as a name may be
	if _, err := n.client("root", auth.ScopeAdmin).PutProfile(t.Context(), "alice", client.Profile{
		DisplayName: name, AvatarURL: "https://img.example/" + url.PathEscape(attack),
	}); err != nil {
		t.Fatal(err)
	}
	db.Do(t, `update user_score_histories set user_agent = $1, address = $1, action = $1, key_id = $1`, attack)
	db.Do(t, `update jobs set reason = $1, who = $1, target = $1, node = $1`, attack)
	db.Do(t, `update imports set source = $1`, attack)
	db.Do(t, `update voids set reason = $1, who = $1, address = $1`, attack)
	db.Do(t, `insert into void_events (void_id, user_id, event_id, state, note)
values (1, 'alice', gen_random_uuid(), 'skipped', $1)`, attack)
	var recorded time.Time
	if err := db.QueryRow(t.Context(), `select recorded_at from user_score_histories where user_id = 'alice'
		order by recorded_at limit 1`).Scan(&recorded); err != nil {
		t.Fatal(err)
	}
	h.await("the name on the board", func() bool {
		_, _, body := request(t, http.MethodGet, n.URL+"/v1/leaderboard/top", "", bearer(h.token("bob", "", time.Hour)))
		return strings.Contains(body, "window.hit")
	})
	root := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour))
	root.header.Set("User-Agent", attack)
	if status, body, _ := root.change(
		"user-freeze",
		url.Values{"user": {"alice"}, "reason": {attack}},
		"apply",
	); status != 200 {
		t.Fatalf("freeze: got %d %s", status, body)
	}
	pages := []string{
		"/console/dead-letters",
		"/console/dead-letters/1",
		"/console/integrity",
		"/console/integrity/flags/1",
		"/console/keys",
		"/console/webhooks",
		"/console/webhooks/wh_1",
		"/console/players/alice",
		"/console/players",
		"/console/players?name=" + url.QueryEscape(attack[:2]),
		"/console/players/alice/events/first?" + url.Values{
			"board": {"global"}, "at": {recorded.UTC().Format(time.RFC3339Nano)},
		}.Encode(),
		"/console/integrity/voids/1",
		"/console/jobs",
		"/console/jobs/1000",
		"/console/imports",
		"/console/imports/1",
		"/console/audit",
		"/console/audit?" + url.Values{"who": {attack}}.Encode(),
		"/console/settings?name=" + url.QueryEscape(attack),
		"/console/boards/" + url.PathEscape(
			attack,
		),
		"/console/changes/user-ban?" + url.Values{"user": {attack}}.Encode(),
	}
	for _, path := range pages {
		_, body, _ := root.get(path)
		if strings.Contains(body, "<script>window") || strings.Contains(body, "<img") {
			t.Errorf("%s has markup of a text", path)
		}
		if !strings.Contains(body, "window.hit") && !strings.Contains(path, "/boards/") {
			t.Errorf("%s does not show the text at all, so the check proves nothing", path)
		}
	}
}

// A board's page shows the partitions that it was given, and those that its ranking has.
func TestConsoleShowsPartitions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	root := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour))
	shown := func(label string, want int) bool {
		_, body, _ := root.get("/console/boards/large")
		value := regexp.MustCompile("<dt>" + label + `</dt><dd>(?:<[^>]*>)*(\d+)<`).FindStringSubmatch(body)
		return len(value) == 2 && value[1] == strconv.Itoa(want)
	}
	for _, c := range []struct {
		change string
		form   url.Values
		want   int
	}{
		{"board-create", url.Values{"partitions": {"2"}, "mode": {"best"}}, 2},
		{"board-partitions", url.Values{"partitions": {"4"}}, 4},
	} {
		c.form.Set("board", "large")
		c.form.Set("reason", "test")
		if status, body, _ := root.change(c.change, c.form, "apply"); status != http.StatusOK {
			t.Fatalf("%s: got %d %s", c.change, status, body)
		}
		if !shown("Partitions", c.want) {
			_, body, _ := root.get("/console/boards/large")
			t.Errorf("the page does not show %d partitions: %s", c.want, body)
		}
		h.await("the ranking to have its partitions", func() bool { return shown("Partitions now", c.want) })
	}
	for _, wrong := range []string{"0", "65", "two", ""} {
		form := url.Values{"board": {"large"}, "partitions": {wrong}, "reason": {"test"}}
		if status, body, _ := root.change("board-partitions", form, "apply"); status < 400 {
			t.Errorf("%q partitions: got %d %s", wrong, status, body)
		}
	}
}
