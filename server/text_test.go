package server_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// schema is the part of a JSON schema that OpenAPI describes bodies with.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
}

// document is the part of the OpenAPI document that lists what a client may send.
type document struct {
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		Parameters []struct {
			Name string
			In   string
		}
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct{ Description string }
	}
	Components struct{ Schemas map[string]schema }
}

// documents returns the OpenAPI documents of a node with all dialects.
func documents(t testing.TB, n *node) []*document {
	t.Helper()
	paths := []string{"/openapi.json"}
	for _, name := range config.DialectNames {
		paths = append(paths, "/openapi/"+name+".json")
	}
	all := make([]*document, len(paths))
	for i, path := range paths {
		_, _, text := request(t, http.MethodGet, n.URL+path, "", nil)
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return all
}

// base is what precedes the paths of a document.
func (d *document) base() string {
	if len(d.Servers) == 0 {
		return ""
	}
	return strings.TrimSuffix(d.Servers[0].URL, "/")
}

// errorCode returns the code of an error body of the native API or of a dialect, as the
// native one has it; "" if it has none or no id of the request.
func errorCode(answer string) string {
	var e struct {
		wire.Error
		Envelope struct {
			Code      string
			RequestID string `json:"request_id"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(answer), &e) != nil || e.RequestID == "" && e.Envelope.RequestID == "" {
		return ""
	}
	return cmp.Or(e.ErrorCode, strings.ToLower(e.Envelope.Code))
}

// badTexts are texts that PostgreSQL refuses, or that are hostile where they are shown,
// as they stand in a query and in a JSON string.
var badTexts = map[string]struct{ query, body string }{
	"NUL":            {"a%00b", `a\u0000b`},
	"ESC":            {"a%1bb", `a\u001bb`},
	"line break":     {"a%0ab", `a\nb`},
	"DEL":            {"a%7fb", "a\x7fb"},
	"C1":             {"a%c2%9bb", "a\u009bb"},
	"no UTF-8":       {"a%ffb", "a\xffb"},
	"half a rune":    {"a%e2%82", "a\xe2\x82"},
	"surrogate":      {"a%ed%a0%80", `a\ud800b`},
	"overlong":       {strings.Repeat("x", 5000), ""},
	"overlong NUL":   {"%c0%80", "\xc0\x80"},
	"malformed":      {"%zz", ""},
	"only a NUL":     {"%00", `\u0000`},
	"two surrogates": {"%ed%b0%80", `\udc00\ud800`},
}

// harmless is a valid value for the parameter or field with a name.
func harmless(name string) string {
	switch name {
	case "user_id":
		return "alice"
	case "board", "family":
		return "global"
	case "reason", "name", "display_name":
		return "because"
	case "event_id":
		return "e1"
	}
	return "1"
}

// Bad text is a 400 in every parameter of every route and in every field of every body,
// never a 5xx, and changes nothing. The routes are those of the OpenAPI documents, also of
// the dialects.
func TestBadTextIsRejectedEverywhere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "auth-dev-issuer", "true",
		"limit-events-per-minute", "0", "limit-tickets-per-minute", "0",
		"limit-admin-per-minute", "0", "realtime-connections-per-user", "0",
		"dialects", strings.Join(config.DialectNames, ","))
	header := bearer(h.token("root", auth.ScopeUpdate+" "+auth.ScopeAdmin, time.Hour))
	sent := 0
	send := func(what, method, target, body string, known bool) {
		t.Helper()
		sent++
		status, _, answer := request(t, method, n.URL+target, body, header)
		// Where the text is not part of the route, the route may succeed or reject the rest.
		if status >= 500 || known && status != http.StatusBadRequest {
			t.Errorf("%s: %s %.100q, body %q: got %d %.200s, want 400", what, method, target, body, status, answer)
		} else if known && errorCode(answer) != "invalid_request" {
			t.Errorf("%s: %s %.100q: got %.200s, want an invalid_request", what, method, target, answer)
		}
	}
	before := h.dump(t)
	check := func(d *document, path string) {
		t.Helper()
		for method, o := range d.Paths[path] {
			method, path := strings.ToUpper(method), d.base()+path
			target := path
			for _, p := range o.Parameters {
				target = strings.ReplaceAll(target, "{"+p.Name+"}", harmless(p.Name))
			}
			shape := o.RequestBody.Content["application/json"].Schema
			body, fields := d.example(shape)
			for what, bad := range badTexts {
				send(what+" in an unknown parameter", method, target+"?unheard="+bad.query, body, true)
				if what != "malformed" {
					send(what+" in a parameter's name", method, target+"?"+bad.query+"=1", body, true)
				}
				for _, p := range o.Parameters {
					query := ""
					if p.In == "query" {
						query = "?" + url.QueryEscape(p.Name) + "=" + bad.query
						send(what+" in the parameter "+p.Name, method, target+query, body, true)
					} else if p.In == "path" && what != "malformed" { // net/http rejects it
						bent := strings.ReplaceAll(path, "{"+p.Name+"}", bad.query)
						for _, other := range o.Parameters {
							bent = strings.ReplaceAll(bent, "{"+other.Name+"}", harmless(other.Name))
						}
						send(what+" in the path's "+p.Name, method, bent, body, true)
					}
				}
				for _, field := range fields {
					if bad.body != "" {
						send(what+" in the field "+field, method, target, d.with(shape, field, bad.body), true)
					}
				}
			}
		}
	}
	for _, d := range documents(t, n) {
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			static := strings.HasPrefix(path, "/docs") || strings.HasPrefix(path, "/assets") ||
				path == "/openapi.json" || path == "/asyncapi.json"
			if !static { // those ignore parameters, and look names up in a list
				check(d, path)
			}
		}
	}
	if sent < 3000 {
		t.Errorf("sent %d requests, want at least 3,000", sent)
	}
	if after := h.dump(t); after != before {
		t.Errorf("the requests changed something: %s became %s", before, after)
	}
}

// dump describes what requests of operators and users change.
func (h *harness) dump(t testing.TB) string {
	t.Helper()
	var text string
	err := backends.Connect(t, h.postgres).QueryRow(t.Context(), `select jsonb_build_object(
	'boards', (select jsonb_agg(array[board_id, status] order by board_id) from boards),
	'users', (select jsonb_agg(array[user_id, status] order by user_id) from users),
	'scores', (select count(*) from scores), 'ledger', (select count(*) from user_score_histories),
	'keys', (select count(*) from keys), 'secrets', (select count(*) from key_secrets),
	'audit', (select count(*) from audit_log), 'profiles', (select count(*) from profiles),
	'voids', (select count(*) from voids), 'settings', (select count(*) from settings))::text`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// fields returns the fields of a body that are strings or lists of strings.
func (d *document) fields(s schema) map[string]bool {
	list := map[string]bool{}
	if name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]; name != "" {
		s = d.Components.Schemas[name]
	}
	for name, p := range s.Properties {
		switch {
		case fmt.Sprint(p.Type) == "string" || fmt.Sprint(p.Type) == "[string null]":
			list[name] = false
		case p.Items != nil && fmt.Sprint(p.Items.Type) == "string":
			list[name] = true
		}
	}
	return list
}

// example returns a body that is well-formed and, as it has an unknown field, never
// accepted, and the names of its text fields.
func (d *document) example(s schema) (string, []string) {
	fields := slices.Sorted(maps.Keys(d.fields(s)))
	if s.Ref == "" {
		return "", nil
	}
	return `{"unheard":1}`, fields
}

// with returns a body with one field.
func (d *document) with(s schema, field, value string) string {
	if d.fields(s)[field] {
		return `{"` + field + `":["` + value + `"]}`
	}
	return `{"` + field + `":"` + value + `"}`
}

// A reason that cannot be stored is rejected before anything is changed: no change is
// without its audit row.
func TestBadReasonChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-dev-issuer", "true")
	header := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	status, _, answer := request(t, http.MethodPost, n.URL+"/v1/boards", `{"board":"daily","period":"daily"}`, header)
	if status != http.StatusCreated {
		t.Fatalf("create a board: got %d %s", status, answer)
	}
	before := h.dump(t)
	for path, body := range map[string]string{
		"/v1/admin/tokens": `{"user_id":"mallory","scope":"score:admin"}`, "/v1/boards/daily/roll": `{}`,
		"/v1/boards/roll": `{}`, "/v1/boards/daily/freeze": "", "/v1/admin/keys": `{"name":"k"}`,
		"/v1/boards":        `{"board":"other"}`,
		"/v1/admin/rebuild": `{"board":"global"}`,
	} {
		for what, bad := range badTexts {
			status, _, answer := request(t, http.MethodPost, n.URL+path+"?reason="+bad.query, body, header)
			if status != http.StatusBadRequest || strings.Contains(answer, `"token"`) {
				t.Errorf("%s with %s in the reason: got %d %s, want 400", path, what, status, answer)
			}
		}
	}
	if after := h.dump(t); after != before {
		t.Errorf("the requests changed something: %s became %s", before, after)
	}
	status, _, answer = request(t, http.MethodPost, n.URL+"/v1/admin/tokens?reason=test",
		`{"user_id":"mallory","scope":"score:admin"}`, header)
	if status != http.StatusCreated {
		t.Fatalf("a token: got %d %s", status, answer)
	}
	if rows := backends.Connect(t, h.postgres).Count(t, `select count(*) from audit_log
where action = 'token.mint' and target = 'user:mallory' and reason = 'test' and detail = '{"scope": "score:admin"}'`,
	); rows != 1 {
		t.Errorf("got %d audit rows of the token, want 1", rows)
	}
}
