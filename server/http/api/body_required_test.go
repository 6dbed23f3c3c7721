package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Without one of the fields that the document requires, the example of each body is rejected before it calls a
// component: this API has none. A missing number is not a 0.
func TestBodiesWithoutARequiredField(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	a.Configure(Policy{SignatureOptional: true})
	token := minted(t, a, "alice", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	var document struct {
		Paths      map[string]map[string]exampleOperation
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal(openAPI, &document); err != nil {
		t.Fatal(err)
	}
	resolve := func(schema map[string]any) map[string]any {
		if ref, isRef := schema["$ref"].(string); isRef {
			return document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
		}
		return schema
	}
	inItems := map[string]bool{ // are checked by components
		"POST /v1/scores/increments": true, // each item has its own answer
		"PUT /v1/admin/settings":     true,
	}
	inPath := strings.NewReplacer("{user_id}", "alice", "{id}", "1", "{event_id}", "e1", "{board}", "daily",
		"{team}", "ants", "{key_id}", "k", "{webhook_id}", "wh_1", "{name}", "reads.top_n")
	checked := 0
	for path, methods := range document.Paths {
		for method, o := range methods {
			content := o.RequestBody.Content["application/json"]
			if content.Example == nil {
				continue
			}
			name := strings.ToUpper(method) + " " + path
			for missing, body := range withoutRequired(t, resolve, content.Schema, content.Example) {
				if inItems[name] && strings.Contains(missing, "[") {
					continue
				}
				req := httptest.NewRequestWithContext(t.Context(), strings.ToUpper(method),
					inPath.Replace(path), strings.NewReader(body))
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				a.ServeHTTP(w, req)
				checked++
				if w.Code != http.StatusBadRequest && w.Code != http.StatusUnprocessableEntity {
					t.Errorf("%s without %s: got %d %s, want 400 or 422", name, missing, w.Code, w.Body)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("checked %d bodies, want at least 30", checked)
	}
}

// withoutRequired returns the bodies that lack one required field of an example, by its name.
func withoutRequired(
	t *testing.T, resolve func(map[string]any) map[string]any, schema map[string]any, example json.RawMessage,
) map[string]string {
	t.Helper()
	var whole any
	if err := json.Unmarshal(example, &whole); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var visit func(schema map[string]any, value any, at string)
	visit = func(schema map[string]any, value any, at string) {
		schema = resolve(schema)
		switch value := value.(type) {
		case map[string]any:
			required, _ := schema["required"].([]any)
			properties, _ := schema["properties"].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(value)) {
				property, known := properties[name].(map[string]any)
				if !known {
					continue
				}
				old := value[name]
				visit(property, old, at+name)
				if !slices.Contains(required, any(name)) {
					continue
				}
				delete(value, name)
				body, err := json.Marshal(whole)
				if err != nil {
					t.Fatal(err)
				}
				all[at+name] = string(body)
				value[name] = old
			}
		case []any:
			items, _ := schema["items"].(map[string]any)
			for i, item := range value {
				visit(items, item, fmt.Sprintf("%s[%d].", at, i))
			}
		}
	}
	visit(schema, whole, "")
	return all
}
