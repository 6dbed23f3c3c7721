package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// dialectNode is a node with all dialects, without limits.
func dialectNode(t *testing.T, settings ...string) (*harness, *node) {
	t.Helper()
	h := newHarness(t)
	n := h.start("api,relay,projector,gateway,maintenance", append([]string{
		"transport", "direct", "dialects", strings.Join(config.DialectNames, ","),
		"ingest-actions", "win:1:100,gift:1:5;by=servers,daily:1:9;cooldown=1h," +
			"judge:1:9;users=bob+carl;scope=game:judge",
		"auth-dev-issuer", "false", "dialect-highscore-action-min", "0s",
	}, settings...)...)
	// Until the standings of a new database are filled, a response whose ranking is late is
	// a 503. Their first score is on a board of its own.
	c := n.client("game", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	if _, err := c.CreateBoard(t.Context(), client.BoardRequest{Board: "first"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Submit(t.Context(), client.Increment{User: "first", Delta: 1, Board: "first"}); err != nil {
		t.Fatal(err)
	}
	db, err := pgx.Connect(t.Context(), backends.Owner(h.postgres))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	h.await("the standings to be filled", func() bool {
		var filled bool
		err := db.QueryRow(t.Context(), `select as_of is not null and exists (select from standings)
			from standings_state`).Scan(&filled)
		return err == nil && filled
	})
	return h, n
}

// volatile are the parts of a body that differ from run to run.
var volatile = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT[\d:.]+Z"`), `"TIME"`},
	{regexp.MustCompile(`("request_id":)"[0-9a-f]{32}"`), `$1"ID"`},
	{regexp.MustCompile(`(highscore[:-])\d{4}-\d\d`), "${1}MONTH"},
	{regexp.MustCompile(`("next_cursor":)"[^"]+"`), `$1"CURSOR"`},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "EVENT"},
}

func stable(body string) string {
	for _, v := range volatile {
		body = v.pattern.ReplaceAllString(body, v.text)
	}
	return body
}

// exchange is a request to a dialect and the response that its specification wants.
type exchange struct {
	user, method, path, body string
	status                   int
	want                     string // the body; see stable
}

func (h *harness) exchange(t *testing.T, n *node, steps ...exchange) {
	t.Helper()
	for _, s := range steps {
		header := http.Header{}
		if s.user != "" {
			user, scope, _ := strings.Cut(s.user, " ")
			header = bearer(h.token(user, scope, time.Hour))
		}
		status, _, body := request(t, s.method, n.URL+s.path, s.body, header)
		if got := stable(body); status != s.status || got != s.want {
			t.Errorf("%s %s %s as %q:\n got %d %s\nwant %d %s", s.method, s.path, s.body, s.user, status, got,
				s.status,
				s.want)
		}
	}
}

// ranked waits until the ranking of a board has a user's score: the ranks and rows in
// other users' responses, and in those to repeats, are read from it.
func (h *harness) ranked(n *node, board, user string, score int) {
	h.t.Helper()
	row := fmt.Sprintf(`"user_id":%q,"score":%d`, user, score)
	h.await(row, func() bool {
		_, body := h.get(h.t, n.URL+"/v1/leaderboard/top?board="+board, bearer(h.token("reader", "", time.Hour)))
		return strings.Contains(body, row) && !strings.Contains(body, `"degraded":true`)
	})
}

// profile gives a user a display name and an avatar, through the native API.
func (h *harness) profile(t *testing.T, n *node, user, displayName, avatar string) {
	t.Helper()
	body := fmt.Sprintf(`{"display_name":%q,"avatar_url":%q}`, displayName, avatar)
	status, _, answer := request(t, http.MethodPut, n.URL+"/v1/users/"+user+"/profile", body,
		bearer(h.token(user, "", time.Hour)))
	if status != http.StatusOK {
		t.Fatalf("profile of %s: got %d %s", user, status, answer)
	}
}

func TestDialectPlain(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	const invalid = `{"error_code":"invalid_request",` +
		`"message":"score must be a whole number of at most 32 characters","field":"score","request_id":"ID"}`
	h.exchange(
		t, n,
		exchange{
			"123", "POST", "/scores", `{"score": 4500}`, 200,
			`{"userId":123,"score":4500,"rank":1,"updatedAt":"TIME"}`,
		},
		exchange{
			"123", "POST", "/scores", `{"score": 4500}`, 200,
			`{"userId":123,"score":4500,"rank":1,"updatedAt":"TIME"}`,
		},
		exchange{
			"ada", "POST", "/scores", `{"score":4.6e3,"game":{"level":[7]}}`, 200,
			`{"userId":"ada","score":4600,"rank":1,"updatedAt":"TIME"}`,
		},
		exchange{
			"ada", "POST", "/scores", `{"score":0}`, 200,
			`{"userId":"ada","score":4600,"rank":1,"updatedAt":"TIME"}`,
		},
		exchange{"ada", "POST", "/scores", `{"score":5.5}`, 400, invalid},
		exchange{
			"ada", "POST", "/scores", `{"score":-1}`, 400,
			`{"error_code":"invalid_request","message":"score is outside the bounds of the board,` +
				` 0 to 9007199254740991",` +
				`"field":"score","reason":"board_bounds","request_id":"ID"}`,
		},
		exchange{
			"", "POST", "/scores", `{"score":1}`, 401,
			`{"error_code":"unauthorized","message":"a bearer token is required","request_id":"ID"}`,
		},
		exchange{
			"ada", "GET", "/leaderboard/nobody", "", 404,
			`{"error_code":"not_found","message":"user nobody has no score on board plain","request_id":"ID"}`,
		},
	)
	h.profile(t, n, "ada", "Ada L.", "")
	h.await("the rows", func() bool {
		_, body := h.get(t, n.URL+"/leaderboard/top", bearer(h.token("ada", "", time.Hour)))
		return strings.Contains(body, "Ada L.") && strings.Contains(body, "4500")
	})
	h.exchange(
		t, n,
		exchange{
			"123", "POST", "/scores", `{"score": 10}`, 200,
			`{"userId":123,"score":4500,"rank":2,"updatedAt":"TIME"}`,
		},
		exchange{"ada", "GET", "/leaderboard/top?_=1", "", 200, `[{"userId":"ada","nickName":"Ada L.","score":4600,` +
			`"rank":1,"updatedAt":"TIME"},{"userId":123,"nickName":"123","score":4500,"rank":2,"updatedAt":"TIME"}]`},
		exchange{
			"ada", "GET", "/leaderboard/123", "", 200,
			`{"userId":123,"score":4500,"rank":2,"updatedAt":"TIME"}`,
		},
	)
	// A score that is not higher leaves no trace except in the metrics.
	if got := h.entries(t, n, "ada", "plain"); got != 1 {
		t.Errorf("ada has %d entries in the ledger, want 1", got)
	}
	if got := n.metric(t, "scoreboard_ingest_unchanged_total", ""); got != 3 {
		t.Errorf("got %v scores that were not better, want 3", got)
	}
}

// entries is the number of a user's entries in the ledger of a board.
func (h *harness) entries(t *testing.T, n *node, user, board string) int {
	t.Helper()
	_, _, body := request(t, http.MethodGet, n.URL+"/v1/users/"+user+"/statement?board="+board, "",
		bearer(h.token(user, "", time.Hour)))
	var statement struct{ Entries []struct{ Version int } }
	if err := json.Unmarshal([]byte(body), &statement); err != nil {
		t.Fatalf("statement of %s: %s: %v", user, body, err)
	}
	return len(statement.Entries)
}

func TestDialectDelta(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	update := func(user string, delta string, action string) string {
		return fmt.Sprintf(`{"userId":%q,"scoreDelta":%s,"actionId":%q,"timestamp":"2025-09-28T06:00:00Z"}`, user,
			delta,
			action)
	}
	invalid := func(message, field string) string {
		return fmt.Sprintf(`{"error_code":"invalid_request","message":%q,"field":%q,"request_id":"ID"}`, message,
			field)
	}
	const path = "/delta/v1/score/update"
	native := fmt.Sprintf(`{"user_id":"alice","delta":4500,"event_id":"other","timestamp":%q,"board":"plain"}`,
		time.Now().UTC().Format(time.RFC3339))
	if status, _, body := request(t, http.MethodPost, n.URL+"/v1/scores/increment", native,
		bearer(h.token("alice", "", time.Hour))); status != http.StatusOK {
		t.Fatalf("got %d %s", status, body)
	}
	h.exchange(
		t, n,
		exchange{"alice", "POST", path, update("alice", "10", "a1"), 200, `{"newScore":10}`},
		exchange{"alice", "POST", path, update("alice", "7", "a2"), 200, `{"newScore":17}`},
		// A duplicate action is answered with the recorded score, whatever the delta.
		exchange{"alice", "POST", path, update("alice", "10", "a1"), 200, `{"newScore":10}`},
		exchange{"alice", "POST", path, update("alice", "99", "a1"), 200, `{"newScore":10}`},
		// An action of another board is not answered with that board's score.
		exchange{
			"alice", "POST", path, update("alice", "4", "other"), 409, `{"error_code":"event_conflict",` +
				`"message":"event other was already recorded with another payload","event_id":"other",` +
				`"request_id":"ID"}`,
		},
		exchange{"game score:update", "POST", path, update("bob", "4", "a1"), 200, `{"newScore":4}`},
		exchange{"bob", "POST", path, update("alice", "4", "a3"), 401, `{"error_code":"unauthorized",` +
			`"message":"the token is not for user alice","event_id":"a3","request_id":"ID"}`},
		exchange{
			"", "POST", path, update("alice", "4", "a3"), 401,
			`{"error_code":"unauthorized","message":"a bearer token is required","request_id":"ID"}`,
		},
		exchange{"alice", "POST", path, `{"userId":"alice"}`, 400, invalid("scoreDelta is required", "scoreDelta")},
		exchange{
			"alice", "POST", path, update("alice", "5.5", "a3"), 400,
			invalid("scoreDelta must be a whole number of at most 32 characters", "scoreDelta"),
		},
		exchange{
			"alice", "POST", path, update("alice", "5", "?"), 400,
			invalid("actionId must be 1 to 128 characters of A-Z a-z 0-9 . _ : @ -", "actionId"),
		},
		exchange{
			"alice", "POST", path, update("alice", "2000000", "a3"), 400,
			`{"error_code":"invalid_request","message":"scoreDelta is outside the bounds of the board, 1 to 1000000",` +
				`` +
				`"event_id":"a3","field":"scoreDelta","reason":"board_bounds","request_id":"ID"}`,
		},
	)
	h.profile(t, n, "alice", "Alice", "https://example.com/a.png")
	h.await("the rows", func() bool {
		_, body := h.get(t, n.URL+"/delta/v1/leaderboard/top", bearer(h.token("alice", "", time.Hour)))
		return strings.Contains(body, `"Alice"`) && strings.Contains(body, "bob")
	})
	h.exchange(
		t, n,
		exchange{"bob", "GET", "/delta/v1/leaderboard/top?n=10", "", 200, `{"top":[{"rank":1,"userId":"alice",` +
			`"username":"Alice","score":17},{"rank":2,"userId":"bob","username":"bob","score":4}],"asOf":"TIME"}`},
		exchange{
			"bob", "GET", "/delta/v1/leaderboard/top?n=1", "", 200,
			`{"top":[{"rank":1,"userId":"alice","username":"Alice","score":17}],"asOf":"TIME"}`,
		},
		exchange{
			"bob", "GET", "/delta/v1/leaderboard/top?n=101", "", 400,
			invalid("n must be an integer from 1 to 100", "n"),
		},
		exchange{
			"bob", "GET", "/delta/v1/users/alice/score", "", 200,
			`{"userId":"alice","username":"Alice","score":17,"rank":1,"asOf":"TIME"}`,
		},
		exchange{
			"bob", "GET", "/delta/v1/users/carol/score", "", 404,
			`{"error_code":"not_found","message":"user carol has no score on board delta","request_id":"ID"}`,
		},
	)
}

func TestDialectModule(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	const path = "/api/v1/scores/update"
	update := func(user, action, points, at string) string {
		return fmt.Sprintf(`{"userId":%q,"actionId":%q,"scoreIncrement":%s,"timestamp":%q}`, user, action, points, at)
	}
	const noon = "2026-11-23T12:00:00Z"
	h.exchange(
		t, n,
		exchange{"ada", "POST", path, update("ada", "win", "5", noon), 200, `{"userId":"ada","newScore":5,"rank":1,` +
			`"leaderboard":[{"userId":"ada","username":"ada","score":5,"rank":1}]}`},
	)
	h.ranked(n, "module", "ada", 5)
	h.exchange(
		t, n,
		// The same action at the same time is the same event.
		exchange{
			"ada", "POST", path, update("ada", "win", "5.0", "2026-11-23T13:00:00+01:00"), 200,
			`{"userId":"ada",` +
				`"newScore":5,"rank":1,"leaderboard":[{"userId":"ada","username":"ada","score":5,"rank":1}]}`,
		},
		exchange{"game score:update", "POST", path, update("bob", "win", "9e0", noon), 200, `{"userId":"bob",` +
			`"newScore":9,"rank":1,"leaderboard":[{"userId":"bob","username":"bob","score":9,"rank":1},` +
			`{"userId":"ada","username":"ada","score":5,"rank":2}]}`},
	)
	h.ranked(n, "module", "bob", 9)
	h.exchange(
		t, n,
		exchange{"ada", "POST", path, update("ada", "win", "6", noon), 409, `{"error_code":"event_conflict",` +
			`"message":"event EVENT was already recorded with another payload","request_id":"ID"}`},
		exchange{
			"ada", "POST", path, update("ada", "lose", "5", noon), 400,
			`{"error_code":"invalid_request","message":` +
				`"action \"lose\" is not configured (setting ingest.actions)","field":"actionId","request_id":"ID"}`,
		},
		exchange{
			"ada", "POST", path, update("ada", "win", "101", noon[:17]+"01Z"), 400,
			`{"error_code":"invalid_request",` +
				`"message":"action win takes a delta from 1 to 100","field":"scoreIncrement",` +
				`"reason":"action_rule","request_id":"ID"}`,
		},
		exchange{
			"ada", "POST", path, update("ada", "daily", "1", noon), 200,
			`{"userId":"ada","newScore":6,"rank":2,` +
				`"leaderboard":[{"userId":"bob","username":"bob","score":9,"rank":1},` +
				`{"userId":"ada","username":"ada","score":6,"rank":2}]}`,
		},
		exchange{
			"ada", "POST", path, update("ada", "daily", "1", noon[:17]+"02Z"), 400,
			`{"error_code":"invalid_request",` +
				`"message":"action daily has a cooldown of 1h0m0s","field":"actionId","request_id":"ID"}`,
		},
		exchange{"ada", "POST", path, update("ada", "gift", "1", noon), 403, `{"error_code":"forbidden",` +
			`"message":"action gift may be performed by servers only","field":"actionId",` +
			`"reason":"action_by","request_id":"ID"}`},
		exchange{
			"game score:update", "POST", path, update("ada", "gift", "1", noon), 200,
			`{"userId":"ada","newScore":7,` +
				`"rank":2,"leaderboard":[{"userId":"bob","username":"bob","score":9,"rank":1},` +
				`{"userId":"ada","username":"ada","score":7,"rank":2}]}`,
		},
	)
	h.ranked(n, "module", "ada", 7)
	h.exchange(
		t, n,
		exchange{"bob", "POST", path, update("ada", "win", "5", noon), 403, `{"error_code":"forbidden",` +
			`"message":"the token is not for user ada","request_id":"ID"}`},
		exchange{
			"", "POST", path, update("ada", "win", "5", noon), 401,
			`{"error_code":"unauthorized","message":"a bearer token is required","request_id":"ID"}`,
		},
		exchange{"bob", "POST", path, update("bob", "judge", "1", noon), 403, `{"error_code":"forbidden",` +
			`"message":"action judge requires the scope game:judge","field":"actionId",` +
			`"reason":"action_by","request_id":"ID"}`},
		exchange{"ada game:judge", "POST", path, update("ada", "judge", "1", noon), 403, `{"error_code":"forbidden",` +
			`"message":"action judge may not be performed by this user","field":"actionId",` +
			`"reason":"action_by","request_id":"ID"}`},
		exchange{
			"carl game:judge", "POST", path, update("carl", "judge", "1", noon), 200,
			`{"userId":"carl","newScore":1,"rank":3,"leaderboard":[` +
				`{"userId":"bob","username":"bob","score":9,"rank":1},` +
				`{"userId":"ada","username":"ada","score":7,"rank":2},` +
				`{"userId":"carl","username":"carl","score":1,"rank":3}]}`,
		},
	)
	h.ranked(n, "module", "carl", 1)
	h.exchange(
		t, n,
		// A repeat does not need the scope any more.
		exchange{
			"carl", "POST", path, update("carl", "judge", "1", noon), 200,
			`{"userId":"carl","newScore":1,"rank":3,"leaderboard":[` +
				`{"userId":"bob","username":"bob","score":9,"rank":1},` +
				`{"userId":"ada","username":"ada","score":7,"rank":2},` +
				`{"userId":"carl","username":"carl","score":1,"rank":3}]}`,
		},
	)
}

func TestDialectHighscore(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	const path = "/v1/scores/update"
	tokens := make(map[string]string) // by action
	update := func(user, action, score string) string {
		if tokens[action] == "" {
			start := `{"action_id":"` + action + `"}`
			if action == "m7" {
				start = `{"action_id":"m7","max_delta":10}`
			}
			_, _, body := request(t, http.MethodPost, n.URL+"/v1/actions", start,
				bearer(h.token(user, "", time.Hour)))
			var started struct {
				ActionID    string `json:"action_id"`
				ActionToken string `json:"action_token"`
			}
			if err := json.Unmarshal([]byte(body), &started); err != nil || started.ActionID != action {
				t.Fatalf("start %s: %s: %v", action, body, err)
			}
			tokens[action] = started.ActionToken
		}
		return fmt.Sprintf(`{"action_id":%q,"action_token":%q,"new_score":%s,"timestamp":"2026-02-02T10:30:00Z"}`,
			action, tokens[action], score)
	}
	ok := func(player, score, previous, action, rank, applied string) string {
		return `{"success":true,"data":{"player_id":"` + player + `","leaderboard_id":"highscore-MONTH","score":` +
			score +
			`,"previous_score":` + previous + `,"last_action_id":"` + action + `","rank":` + rank +
			`,"update_applied":` +
			applied + `,"updated_at":"TIME"}}`
	}
	failed := func(code, message string) string {
		return `{"success":false,"error":{"code":"` + code + `","message":"` + message + `","request_id":"ID"}}`
	}
	bodies := map[string]string{"m1": update("p1", "m1", "12000"), "m3": update("p2", "m3", "9000")}
	h.exchange(
		t, n,
		exchange{"p1", "POST", path, bodies["m1"], 200, ok("p1", "12000", "null", "m1", "1", "true")},
		exchange{"p1", "POST", path, update("p1", "m2", "12345"), 200, ok("p1", "12345", "12000", "m2", "1", "true")},
	)
	h.ranked(n, "highscore", "p1", 12345)
	h.exchange(
		t, n,
		exchange{"p2", "POST", path, bodies["m3"], 200, ok("p2", "9000", "null", "m3", "2", "true")},
		// Not higher: the score is kept.
		exchange{"p1", "POST", path, update("p1", "m4", "100"), 200, ok("p1", "12345", "12345", "m4", "1", "false")},
		// The same action again, with the current score.
		exchange{"p1", "POST", path, bodies["m1"], 200, ok("p1", "12345", "null", "m1", "1", "false")},
		exchange{
			"p1", "POST", path, update("p1", "m1", "13000"), 409,
			failed("DUPLICATE_ACTION", "event m1 was already recorded with another payload"),
		},
		exchange{
			"p1", "POST", path, strings.Replace(update("p1", "m5", "1"), tokens["m5"], tokens["m2"], 1), 403,
			failed("FORBIDDEN", "the action token is for another user, board, action or event"),
		},
		exchange{
			"p2", "POST", path, update("p1", "m5", "1"), 403,
			failed("FORBIDDEN", "the action token is for another user, board, action or event"),
		},
		exchange{
			"p1", "POST", path, strings.Replace(update("p1", "m5", "1"), tokens["m5"], "eyJ...", 1), 403,
			failed("FORBIDDEN", "invalid action token"),
		},
		exchange{
			"p1", "POST", path, strings.Replace(update("p1", "m5", "1"), tokens["m5"], "", 1), 400,
			failed("INVALID_REQUEST", "action_token is required"),
		},
		exchange{
			"p1", "POST", path, strings.Replace(update("p1", "m5", "1"), `"new_score"`, `"score"`, 1), 400,
			failed("INVALID_REQUEST", `unknown field \"score\"`),
		},
		exchange{"p1", "POST", path, update("p1", "m5", "-1"), 400, failed("INVALID_REQUEST",
			"new_score is outside the bounds of the board, 0 to 9007199254740991")},
		exchange{"p1", "POST", path, update("p1", "m7", "11"), 403, failed("FORBIDDEN",
			"new_score is outside the bounds of the action, 0 to 10")},
		exchange{
			"", "POST", path, update("p1", "m5", "1"), 401,
			failed("UNAUTHORIZED", "a bearer token is required"),
		},
		exchange{"p1", "GET", path, "", 405, failed("METHOD_NOT_ALLOWED", "method GET is not allowed")},
		exchange{
			"p3", "GET", "/v1/scores/me/rank", "", 404,
			failed("NOT_FOUND", "user p3 has no score on board highscore:MONTH"),
		},
	)
	header := bearer(h.token("p1", "", time.Hour))
	header.Set("X-Idempotency-Key", "m6")
	if status, _, body := request(t, http.MethodPost, n.URL+path, update("p1", "m5", "1"), header); status != 400 ||
		stable(body) != failed("INVALID_REQUEST", "action_id must equal the header X-Idempotency-Key") {
		t.Errorf("another idempotency key: got %d %s", status, body)
	}
	h.profile(t, n, "p1", "Champion", "https://example.com/p1.png")
	h.await("the rows", func() bool {
		_, body := h.get(t, n.URL+"/v1/leaderboard", bearer(h.token("p1", "", time.Hour)))
		return strings.Contains(body, "Champion") && strings.Contains(body, "9000") && strings.Contains(body, "HEALTHY")
	})
	h.exchange(
		t, n,
		exchange{
			"p2", "GET", "/v1/leaderboard?n=1", "", 200,
			`{"success":true,"data":{"leaderboard_id":"highscore-MONTH",` +
				`"top_n":1,"entries":[{"rank":1,"player_id":"p1","username":"Champion","score":12345,` +
				`"avatar_url":"https://example.com/p1.png"}],"updated_at":"TIME",` +
				`"next_cursor":"CURSOR","degraded":false,` +
				`` +
				`"board_state":"HEALTHY"}}`,
		},
		exchange{
			"p1", "GET", "/v1/scores/me/rank?k=5", "", 200,
			`{"success":true,"data":{"player_id":"p1","score":12345,` +
				`"global_rank":1,"percentile":50,"neighbors":[{"player_id":"p1","score":12345,"rank":1,"self":true},` +
				`{"player_id":"p2","score":9000,"rank":2}],"degraded":false,"board_state":"HEALTHY"}}`,
		},
		exchange{
			"p1", "GET", "/v1/scores/me/rank?k=51", "", 400,
			failed("INVALID_REQUEST", "k must be an integer from 0 to 50"),
		},
		exchange{
			"p1", "GET", "/v1/leaderboard?limit=1", "", 400,
			failed("INVALID_REQUEST", `unknown parameter \"limit\"`),
		},
	)
	_, _, body := request(t, http.MethodGet, n.URL+"/v1/leaderboard?n=1", "", bearer(h.token("p2", "", time.Hour)))
	cursor := regexp.MustCompile(`"next_cursor":"([^"]+)"`).FindStringSubmatch(body)[1]
	h.exchange(t, n, exchange{
		"p2", "GET", "/v1/leaderboard?n=1&cursor=" + cursor, "", 200,
		`{"success":true,"data":{` +
			`"leaderboard_id":"highscore-MONTH","top_n":1,"entries":[{"rank":2,"player_id":"p2","username":"p2",` +
			`"score":9000}],"updated_at":"TIME","next_cursor":null,"degraded":false,"board_state":"HEALTHY"}}`,
	})
}

// Every dialect rejects the same input at the cost of an error, in its own shape.
func TestDialectsRejectBadInput(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	token := bearer(h.token("ada", "", time.Hour))
	nested := `{"x":` + strings.Repeat(`{"x":`, 700) + "1" + strings.Repeat("}", 701)
	for path, field := range map[string]string{
		"/v1/scores/update": "new_score", "/delta/v1/score/update": "scoreDelta",
		"/api/v1/scores/update": "scoreIncrement",
		"/scores":               "score",
	} {
		for name, tt := range map[string]struct {
			method, body, contentType string
			status                    int
		}{
			"NaN":            {"POST", `{"` + field + `":NaN}`, "application/json", 400},
			"fraction":       {"POST", `{"` + field + `":5.5}`, "application/json", 400},
			"text":           {"POST", `{"` + field + `":"5"}`, "application/json", 400},
			"null":           {"POST", `{"` + field + `":null}`, "application/json", 400},
			"infinity":       {"POST", `{"` + field + `":1e400}`, "application/json", 400},
			"exponent":       {"POST", `{"` + field + `":1e-999999999}`, "application/json", 400},
			"twice":          {"POST", `{"` + field + `":5,"` + field + `":5}`, "application/json", 400},
			"list":           {"POST", `[{"` + field + `":5}]`, "application/json", 400},
			"trailing":       {"POST", `{"` + field + `":5} {}`, "application/json", 400},
			"no body":        {"POST", "", "application/json", 400},
			"nested":         {"POST", nested, "application/json", 400},
			"too long":       {"POST", `{"x":"` + strings.Repeat("x", 10<<20) + `"}`, "application/json", 400},
			"form":           {"POST", field + "=5", "application/x-www-form-urlencoded", 400},
			"method":         {"GET", "", "application/json", 405},
			"another method": {"DELETE", "", "application/json", 405},
		} {
			header := http.Header{"Content-Type": {tt.contentType}, "Authorization": token["Authorization"]}
			req, err := http.NewRequestWithContext(t.Context(), tt.method, n.URL+path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = header
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				if name == "too long" { // closed while the client was still sending
					continue
				}
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			shape := `{"error_code":"`
			if path == "/v1/scores/update" {
				shape = `{"success":false,"error":{"code":"`
			}
			if res.StatusCode != tt.status || !strings.HasPrefix(string(body),
				shape) || res.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s %s: got %d %s, want %d", path, name, res.StatusCode, body, tt.status)
			}
		}
	}
	for _, board := range []string{"plain", "delta", "module", "highscore"} {
		if got := h.entries(t, n, "ada", board); got != 0 {
			t.Errorf("bad input left %d entries on %s", got, board)
		}
	}
}

// The native API and dialects are one user, one limit, one ledger and one sequence of
// versions, over two nodes.
func TestDialectsShareOneLedger(t *testing.T) {
	t.Parallel()
	onGlobal := []string{
		"limit-updates-per-minute", "6", "dialect-delta-board", "global", "dialect-module-board", "global",
		"dialect-delta-signature", "optional", "dialect-module-signature", "optional",
	}
	h, first := dialectNode(t, onGlobal...)
	second := h.start("api", append([]string{
		"transport", "streams", "dialects", "delta,module", "ingest-actions", "win:1:100",
	}, onGlobal...)...)
	now := time.Now().UTC().Format(time.RFC3339)
	native := func(event string) string {
		return `{"user_id":"ada","delta":1,"event_id":"` + event + `","timestamp":"` + now + `"}`
	}
	delta := func(event string) string {
		return `{"userId":"ada","scoreDelta":1,"actionId":"` + event + `","timestamp":"` + now + `"}`
	}
	header := bearer(h.token("ada", "", time.Hour))
	var statuses []int
	var scores []string
	for i, step := range []struct {
		n          *node
		path, body string
	}{
		{first, "/v1/scores/increment", native("e1")},
		{second, "/delta/v1/score/update", delta("e2")},
		{second, "/delta/v1/score/update", delta("e1")}, // known from the native API
		{first, "/api/v1/scores/update", `{"userId":"ada","actionId":"win","scoreIncrement":1,"timestamp":"` + now +
			`"}`},
		{second, "/v1/scores/increment", native("e2")}, // known from the dialect
		{first, "/delta/v1/score/update", delta("e3")},
		{second, "/api/v1/scores/update", `{"userId":"ada","actionId":"win","scoreIncrement":1,"timestamp":"` +
			now + `"}`},
		{first, "/v1/scores/increment", native("e4")},
	} {
		status, answer, body := request(t, http.MethodPost, step.n.URL+step.path, step.body, header)
		statuses = append(statuses, status)
		score := regexp.MustCompile(`"(?:new_score|newScore)":(\d+)`).FindStringSubmatch(body)
		if status == http.StatusOK {
			scores = append(scores, score[1])
		} else if status == http.StatusTooManyRequests && answer.Get("Retry-After") == "" {
			t.Errorf("step %d: a 429 without Retry-After: %s", i, body)
		}
	}
	if want := []int{200, 200, 200, 200, 200, 200, 429, 429}; !slices.Equal(statuses, want) {
		t.Errorf("got statuses %v, want %v", statuses, want)
	}
	if want := []string{"1", "2", "1", "3", "2", "4"}; !slices.Equal(scores, want) {
		t.Errorf("got scores %v, want %v", scores, want)
	}
	if got := h.entries(t, first, "ada", "global"); got != 4 {
		t.Errorf("ada has %d entries in the ledger, want 4", got)
	}
	admin := bearer(h.token("op", "score:admin", time.Hour))
	status, _, body := request(t, http.MethodPost, first.URL+"/v1/admin/verify", `{"all":true}`, admin)
	want := `"ledger_rows":5,"rewards":0,"differences_total":0` // and "first"
	if status != http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("verify: got %d %s", status, body)
	}
}

// A collision of two routes ends the start, and dialects can have a host of their own.
func TestDialectMounts(t *testing.T) {
	t.Parallel()
	load := func(base string) error {
		flags := map[string]string{
			"auth-jwt-secret": jwtSecret, "postgres-url": "postgres://localhost/none",
			"auth-master-key": strings.Repeat("ab", 32), "redis-url": "redis://localhost",
			"transport": "direct", "dialects": "delta", "dialect-delta-base": base,
			"roles": "api,relay,projector,gateway,maintenance",
		}
		c, _, err := config.Load(func(name string) (string, bool) {
			v, ok := flags[name]
			return v, ok
		}, func(string) (string, bool) { return "", false }, nil)
		if err != nil {
			return err
		}
		s, err := server.New(t.Context(), c, slog.New(slog.DiscardHandler))
		if err == nil {
			s.Close()
		}
		return err
	}
	err := load("/")
	for _, part := range []string{
		"GET /v1/leaderboard/top of the dialect delta", "the native GET /v1/leaderboard/top", "dialect.delta.base",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error %v does not name %q", err, part)
		}
	}
	for _, base := range []string{"/delta", "//delta.example.com/", "//delta.example.com:8443/v2"} {
		if err := load(base); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
	for _, base := range []string{"", "delta", "/delta/../x", "/:user", "//", "http://x/"} {
		if load(base) == nil {
			t.Errorf("%q was accepted", base)
		}
	}
	h, n := dialectNode(t, "dialect-delta-base", "//delta.example.com/")
	const path, native, document = "/v1/leaderboard/top", `{"board":"global"`, `{"components":`
	for target, want := range map[string]string{
		"delta.example.com " + path: `{"top":[`, "DELTA.example.com:8080 " + path: `{"top":[`,
		"example.com " + path: native, "xdelta.example.com " + path: native, "example.com:8080 " + path: native,
		"delta.example.com /openapi/delta.json": document, "example.com /openapi/delta.json": document,
		"example.com /docs/api-delta":          "<!DOCTYPE html>",
		"delta.example.com /v1/leaderboard/me": `{"error_code":"not_found"`,
	} {
		host, path, _ := strings.Cut(target, " ")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Header = host, bearer(h.token("ada", "", time.Hour))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if !strings.HasPrefix(string(body), want) {
			t.Errorf("%s: got %.300s, want %s…", target, body, want)
		}
	}
}
