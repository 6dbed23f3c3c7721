package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// exampleOperation is what an operation of the OpenAPI document sends and answers.
type exampleOperation struct {
	Parameters []struct {
		Name, In string
		Example  json.RawMessage
	}
	RequestBody struct {
		Content map[string]struct{ Example json.RawMessage }
	}
	Responses map[string]struct {
		Ref     string `json:"$ref"`
		Content map[string]json.RawMessage
	}
}

// sentExamples are the requests besides GET that are sent, because they only read or
// are dry runs.
var sentExamples = []string{
	"POST /v1/leaderboard/users", "POST /v1/boards/roll", "POST /v1/admin/verify", "POST /v1/admin/ledger/archive",
	"POST /v1/admin/what-if",
}

// absentExamples are the examples that a new installation answers with an error.
var absentExamples = map[string]int{
	"GET /v1/boards/{board}/standings":               http.StatusNotFound, // global has no periods
	"GET /v1/admin/flags/{id}":                       http.StatusNotFound,
	"GET /v1/admin/voids/{id}":                       http.StatusNotFound,
	"GET /v1/admin/dead-letters/{id}":                http.StatusNotFound,
	"GET /v1/users/{user_id}/history":                http.StatusNotFound, // ada had no score then
	"GET /b/{board}/players/{user_id}/history":       http.StatusNotFound,
	"GET /v1/admin/imports/{id}/summary":             http.StatusNotFound,
	"GET /v1/admin/jobs/{id}":                        http.StatusNotFound,   // no job has run yet
	"GET /v1/admin/users":                            http.StatusBadRequest, // without a name
	"GET /v1/admin/webhooks/{webhook_id}/deliveries": http.StatusNotFound,

	"GET /v1/leagues/{board}/me":              http.StatusNotFound, // global is no league
	"GET /v1/leagues/{board}/users/{user_id}": http.StatusNotFound,
	"GET /v1/leagues/{board}/cohorts/{id}":    http.StatusNotFound,
	"GET /v1/admin/leagues/{board}/cohorts":   http.StatusNotFound,

	"GET /v1/admin/rewards":         http.StatusBadRequest, // without a period
	"POST /v1/admin/ledger/archive": http.StatusConflict,   // the setting archive.url is empty

	"GET /v1/boards/{board}/join":                 http.StatusUnprocessableEntity, // nobody joins global
	"GET /v1/admin/boards/{board}/players":        http.StatusBadRequest,          // without a period
	"GET /v1/boards/{board}/teams":                http.StatusUnprocessableEntity, // global ranks users
	"GET /v1/boards/{board}/teams/{team}/members": http.StatusUnprocessableEntity,
}

// testExamples sends the examples of the document to a server, unchanged: each is
// answered as declared, with a body that is valid against its schema.
func testExamples(t *testing.T, h *harness, n *node) {
	t.Helper()
	// Ada has an event, a score and a profile.
	root := bearer(h.token("ada", auth.ScopeAdmin+" "+auth.ScopeUpdate, time.Hour))
	game := n.client("game", auth.ScopeUpdate)
	in := client.Increment{User: "ada", Delta: 25, EventID: "match-8841"}
	if _, err := game.Submit(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	_, _, document := request(t, http.MethodGet, n.URL+"/openapi.json", "", nil)
	var d struct {
		Paths map[string]map[string]exampleOperation
	}
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		t.Fatal(err)
	}
	schemas := openapi.NewDocument(t, []byte(document))
	profile := d.Paths["/v1/users/{user_id}/profile"]["put"].RequestBody.Content["application/json"].Example
	if status, _, body := request(t, http.MethodPut, n.URL+"/v1/users/ada/profile?reason=test", string(profile),
		root); status != http.StatusOK {
		t.Fatalf("the example of a profile: got %d, %s", status, body)
	}
	sent := 0
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for method, o := range d.Paths[path] {
			name := strings.ToUpper(method) + " " + path
			stream := path == "/v1/realtime/leaderboard" || path == "/v1/realtime/pages/{board}"
			if stream || method != "get" && !slices.Contains(sentExamples, name) {
				continue
			}
			sent++
			target := path
			for _, p := range o.Parameters {
				if p.In == "path" {
					target = strings.ReplaceAll(target, "{"+p.Name+"}", strings.Trim(string(p.Example), `"`))
				}
			}
			header := root.Clone()
			header.Set("Content-Type", "application/json")
			status, answered, body := request(t, strings.ToUpper(method), n.URL+target,
				string(o.RequestBody.Content["application/json"].Example), header)
			want := http.StatusOK
			if absent := absentExamples[name]; absent != 0 {
				want = absent
			}
			answer, declared := o.Responses[strconv.Itoa(status)]
			if status != want || !declared {
				t.Errorf("%s: got %d %.300s, want %d", name, status, body, want)
				continue
			}
			at := []string{"paths", path, method, "responses", strconv.Itoa(status)}
			if answer.Ref != "" {
				at = strings.Split(strings.TrimPrefix(answer.Ref, "#/"), "/")
			}
			kind, _, _ := strings.Cut(answered.Get("Content-Type"), ";")
			values := []string{body}
			switch kind {
			case "application/x-ndjson":
				values = strings.Split(strings.TrimSpace(body), "\n")
			case "application/json":
			default: // a page
				if _, known := answer.Content[kind]; !known {
					t.Errorf("%s: got a %s, want one of %v", name, kind, answer.Content)
				}
				continue
			}
			for _, value := range values {
				if err := schemas.Validate([]byte(value), append(at, "content", kind, "schema")...); err != nil {
					t.Errorf("%s: got %.300s: %v", name, value, err)
				}
			}
		}
	}
	if sent < 35 {
		t.Errorf("sent %d examples, want at least 35", sent)
	}
}
