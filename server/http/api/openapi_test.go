package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

var update = flag.Bool("update", false, "rewrite openapi.json and asyncapi.json")

// The embedded document is what the operations, the types and their comments generate.
func TestOpenAPIUpToDate(t *testing.T) {
	t.Parallel()
	checkDocument(t, "openapi.json", openAPI, makeDocument(t), "OpenAPIUpToDate")
}

// checkDocument compares an embedded document with the one that is generated, or rewrites it.
func checkDocument(t *testing.T, name string, embedded, want []byte, tests string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(embedded, want) {
		t.Errorf("%s does not match what generates it; rewrite it with: go test ./server/http/api -run %s -update",
			name, tests)
	}
}

// Exactly the routes of a server with all roles are described.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	described := map[string]bool{}
	for _, o := range operations() {
		if described[o.route] {
			t.Errorf("%s is described twice", o.route)
		}
		described[o.route] = true
	}
	a := everything(&trail{})
	// Components without routes. A component that is added to Options must be added here
	// or to everything(), or its routes would not be checked.
	without := []string{
		"Keyring", "Catalog", "Acceptor", "Events", "Ranker", "Statuses", "Countries",
		"ActionTokens", "Attestations", "StreamTokens", "Tracer",
	}
	for v, i := reflect.ValueOf(allOptions(&trail{})), 0; i < v.NumField(); i++ {
		name := v.Type().Field(i).Name
		k := v.Field(i).Kind()
		unset := (k == reflect.Interface || k == reflect.Pointer) && v.Field(i).IsNil()
		if unset && !slices.Contains(without, name) {
			t.Errorf("everything() has no %s", name)
		}
	}
	for _, r := range a.engine.Routes() {
		if r.Method == http.MethodHead { // TestHead
			continue
		}
		name := r.Method + " " + r.Path
		if !described[name] {
			t.Errorf("%s is not described: add it to operations()", name)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("%s is described and is not a route", name)
	}
}

// Every error code is in the document, with its status.
func TestOpenAPIHasEveryErrorCode(t *testing.T) {
	t.Parallel()
	var d struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []string }
			}
			Responses map[string]struct{ Description string }
		}
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Ref string `json:"$ref"`
			}
		}
	}
	if err := json.Unmarshal(makeDocument(t), &d); err != nil {
		t.Fatal(err)
	}
	enum := d.Components.Schemas["Error"].Properties["error_code"].Enum
	for code, status := range statuses {
		if !slices.Contains(enum, string(code)) {
			t.Errorf("%s is not among the codes of Error: %v", code, enum)
		}
		used := false
		for _, methods := range d.Paths {
			for _, o := range methods {
				ref := strings.TrimPrefix(o.Responses[fmt.Sprint(status)].Ref, "#/components/responses/")
				used = used || slices.Contains(
					strings.Split(d.Components.Responses[ref].Description, ", "), string(code))
			}
		}
		if !used && code != wire.CodeMethodNotAllowed { // no route returns it
			t.Errorf("no operation lists %s (%d)", code, status)
		}
	}
}

// The parts of the OpenAPI standard that the document uses.
func TestOpenAPIValid(t *testing.T) {
	t.Parallel()
	var d map[string]any
	if err := json.Unmarshal(makeDocument(t), &d); err != nil {
		t.Fatal(err)
	}
	if info := d["info"].(map[string]any); d["openapi"] != "3.1.0" || info["title"] == "" || info["version"] == "" {
		t.Errorf("openapi %v, info %v", d["openapi"], info)
	}
	openapi.CheckReferences(t, d)
	ids := map[string]bool{}
	for path, methods := range d["paths"].(map[string]any) {
		for method, o := range methods.(map[string]any) {
			op := o.(map[string]any)
			id := op["operationId"].(string)
			if ids[id] {
				t.Errorf("duplicate operation id %s", id)
			}
			ids[id] = true
			description, _ := op["description"].(string)
			if op["summary"] == "" || description == "" || len(op["responses"].(map[string]any)) == 0 {
				t.Errorf("%s %s: %v", method, path, op)
			}
			var inPath []string
			parameters, _ := op["parameters"].([]any)
			for _, p := range parameters {
				p := p.(map[string]any)
				if p["in"] == "path" {
					inPath = append(inPath, p["name"].(string))
				}
				if p["in"] == "path" && p["required"] != true || p["description"] == "" {
					t.Errorf("%s %s: parameter %v", method, path, p)
				}
			}
			openapi.CheckPath(t, method+" "+path, path, inPath)
			for status, answer := range op["responses"].(map[string]any) {
				if ref, ok := answer.(map[string]any)["$ref"].(string); ok {
					answer = openapi.Resolve(d, ref)
				}
				if description, _ := answer.(map[string]any)["description"].(string); description == "" {
					t.Errorf("%s %s: answer %s has no description", method, path, status)
				}
			}
		}
	}
}

// The document and the documentation need no token.
func TestOpenAPIServed(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	for path, wants := range map[string][2]string{
		openAPIPath:            {"application/json", `"/v1/scores/increment"`},
		asyncAPIPath:           {"application/json", `"leaderboard.updated"`},
		docsPath:               {"text/html; charset=utf-8", `href="docs/first-point"`},
		docsPath + "/api":      {"text/html; charset=utf-8", "Submit an increment"},
		docsPath + "/security": {"text/html; charset=utf-8", "Two roles"},
	} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != wants[0] ||
			!strings.Contains(w.Body.String(), wants[1]) {
			t.Errorf("%s: got %d, %v, without %s", path, w.Code, w.Header(), wants[1])
		}
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, docsPath+"/nowhere", nil))
	var e wire.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusNotFound ||
		e.ErrorCode != string(wire.CodeNotFound) {
		t.Errorf("a page that does not exist: got %d %s, want a 404", w.Code, w.Body)
	}
}

// A description that names a scope names one that opens the route, or that lets a caller
// act for other users.
func TestOpenAPINamesScopesOfRoutes(t *testing.T) {
	t.Parallel()
	routes := map[string]route{}
	for _, r := range everything(&trail{}).handlers.routes() {
		routes[r.method+" "+r.path] = r
	}
	named := regexp.MustCompile(`score:[a-z]+`)
	found := 0
	for _, o := range operations() {
		r := routes[o.route]
		opens := []string{r.requires()}
		if r.operators || r.data == showsUser {
			opens = append(opens, auth.ScopeOperate)
		}
		for _, scope := range named.FindAllString(o.more, -1) {
			found++
			if !slices.Contains(opens, scope) {
				t.Errorf("%s names %s in its description, and %q open it", o.route, scope, opens)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d scopes were found", found)
	}
}

// The console takes scopes from the table by action.
func TestActionsRequireOneScope(t *testing.T) {
	t.Parallel()
	scopes := map[string]string{}
	for _, r := range everything(&trail{}).handlers.routes() {
		if r.action == "" || !r.operates() {
			continue
		}
		if other := scopes[r.action]; other != "" && other != r.scope {
			t.Errorf("%s requires %s here and %s elsewhere", r.action, r.scope, other)
		}
		scopes[r.action] = r.scope
	}
	if len(scopes) < 35 {
		t.Errorf("only %d actions were found", len(scopes))
	}
}
