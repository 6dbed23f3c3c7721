package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/api"
)

// A server with all dialects serves their documents. The requests of the
// specifications' examples, with the users and times of the test, get responses with
// exactly the fields of the examples, and errors are as declared.
func TestDialectExamples(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "dialects", strings.Join(config.DialectNames, ","), "ingest-actions", "match:1:100",
		"dialect-highscore-action-min", "0s")
	const user = "8c6ab0c1-2a4e-4f0e-9a53-7d1f4a1f6f0a"
	ada := bearer(h.token(user, "", time.Hour))
	action, err := n.client(user, "").StartAction(t.Context(), client.ActionRequest{ActionID: "match-uuid-123"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Format(time.RFC3339)
	replace := strings.NewReplacer("user_123", user, `"eyJ..."`, `"`+action.ActionToken+`"`,
		"2026-02-02T10:30:00Z", now, "2025-09-28T06:00:00Z", now)
	sent := 0
	for _, name := range config.DialectNames {
		_, _, text := request(t, http.MethodGet, n.URL+api.DocumentPath(name), "", nil)
		document := []byte(text)
		examples := openapi.Check(t, document)
		schemas := openapi.NewDocument(t, document)
		var d struct {
			Servers []struct{ URL string }
			Paths   map[string]map[string]struct {
				Responses map[string]struct{ Content map[string]json.RawMessage }
			}
		}
		if err := json.Unmarshal(document, &d); err != nil {
			t.Fatal(err)
		}
		base := n.URL + strings.TrimSuffix(d.Servers[0].URL, "/")
		send := func(method, path, body string, header http.Header) {
			t.Helper()
			target := strings.Replace(path, "{user_id}", user, 1)
			status, _, got := request(t, method, base+target, body, header)
			if err := schemas.Validate([]byte(got), "paths", path, strings.ToLower(method), "responses",
				strconv.Itoa(status), "content", "application/json", "schema"); err != nil {
				t.Errorf("%s: %s %s: %d, %s: %v", name, method, path, status, got, err)
			}
			if status != http.StatusOK {
				return
			}
			sent++
			want := examples[method+" "+path+" 200"]
			h.await("the fields of "+string(want[0])+" from "+path, func() bool {
				if shapeOf(t, want[0]) == shapeOf(t, []byte(got)) {
					return true
				}
				if method == http.MethodGet { // its rows follow the write
					_, _, got = request(t, method, base+target, body, header)
				}
				return false
			})
		}
		for _, method := range []string{http.MethodPost, http.MethodGet} { // reads after writes
			for path, methods := range d.Paths {
				o, ok := methods[strings.ToLower(method)]
				if _, isJSON := o.Responses["200"].Content["application/json"]; !ok || !isJSON { // a stream
					continue
				}
				for _, body := range examples[method+" "+path+" request"] {
					if !strings.Contains(string(body), `"signature"`) { // of a key that this server has not
						send(method, path, replace.Replace(string(body)), ada)
					}
				}
				if method == http.MethodGet {
					send(method, path, "", ada)
				} else {
					send(method, path, "{}", ada)
				}
				send(method, path, "{}", bearer("none"))
			}
		}
	}
	if minimum := 10; sent < minimum {
		t.Errorf("got %d successes, want at least %d", sent, minimum)
	}
}

// shapeOf is the names of the fields of a value, without those that may be absent; of a
// list, those of its first item.
func shapeOf(t *testing.T, value []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	var shape func(v any) any
	shape = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			fields := map[string]any{}
			for name, field := range v {
				if name != "avatar_url" && name != "self" {
					fields[name] = shape(field)
				}
			}
			return fields
		case []any:
			if len(v) > 0 {
				return []any{shape(v[0])}
			}
			return v
		}
		return nil
	}
	return fmt.Sprint(shape(v)) // maps are sorted
}
