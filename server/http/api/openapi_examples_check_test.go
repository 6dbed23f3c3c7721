package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/openapi"
)

// Every field of every schema and every parameter has a description; where the name has
// a unit, the description names it in words.
func TestOpenAPIDescribesEveryField(t *testing.T) {
	t.Parallel()
	var d struct {
		Components struct {
			Schemas map[string]struct {
				Description string
				Properties  map[string]struct{ Description string }
			}
		}
		Paths map[string]map[string]exampleOperation
	}
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	units := map[string]string{"_ms": "millisecond", "_seconds": "second", "bytes": "byte", "percent": "percent"}
	fields := 0
	check := func(owner, name, description string) {
		fields++
		if len(description) < 6 || !strings.HasSuffix(description, ".") {
			t.Errorf("%s.%s: got the description %q, want a sentence", owner, name, description)
		}
		for suffix, unit := range units {
			if strings.HasSuffix(name, suffix) && !strings.Contains(description, unit) {
				t.Errorf("%s.%s: got the description %q, want it to name the unit, %ss", owner, name, description, unit)
			}
		}
	}
	for name, s := range d.Components.Schemas {
		check("", name, s.Description)
		for field, p := range s.Properties {
			check(name, field, p.Description)
		}
	}
	for path, methods := range d.Paths {
		for method, o := range methods {
			for _, p := range o.Parameters {
				check(method+" "+path, p.Name, p.Description)
			}
		}
	}
	if fields < 650 {
		t.Errorf("got %d fields and parameters, want at least 650", fields)
	}
}

// Every operation has an example of its parameters in the path, of its request and of
// each successful response with a body, and every error response has one. Each is valid
// against its own schema.
func TestOpenAPIExamples(t *testing.T) {
	t.Parallel()
	schemas := openapi.NewDocument(t, openAPI)
	var d struct {
		Paths      map[string]map[string]exampleOperation
		Components struct {
			Responses map[string]exampleBody
			Examples  map[string]struct{ Value json.RawMessage }
		}
	}
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	valid := func(example json.RawMessage, path ...string) {
		t.Helper()
		if len(example) == 0 {
			t.Errorf("%v: no example", path)
		} else if err := schemas.Validate(example, append(path, "schema")...); err != nil {
			t.Errorf("%v: %v", path, err)
		}
	}
	checked := 0
	bodies := func(b exampleBody, path ...string) {
		t.Helper()
		for kind, c := range b.Content {
			checked++
			if len(c.Examples) == 0 {
				valid(c.Example, append(slices.Clone(path), "content", kind)...)
			}
			for name, example := range c.Examples {
				value := example.Value
				if ref, isRef := strings.CutPrefix(example.Ref, "#/components/examples/"); isRef {
					value = d.Components.Examples[ref].Value
				}
				valid(value, append(slices.Clone(path), "content", kind)...)
				if len(value) == 0 {
					t.Errorf("%v: the example %s has no value", path, name)
				}
			}
		}
	}
	for path, methods := range d.Paths {
		for method, o := range methods {
			at := []string{"paths", path, method}
			for i, p := range o.Parameters {
				if p.In == "path" {
					valid(p.Example, append(slices.Clone(at), "parameters", string(rune('0'+i)))...)
				}
			}
			bodies(o.RequestBody, append(slices.Clone(at), "requestBody")...)
			succeeds := false
			for status, answer := range o.Responses {
				if status < "400" {
					succeeds = succeeds || len(answer.Content) > 0
					bodies(answer, append(slices.Clone(at), "responses", status)...)
				}
			}
			if !succeeds {
				t.Errorf("%s %s has no example of a successful response", method, path)
			}
		}
	}
	for name, answer := range d.Components.Responses {
		bodies(answer, "components", "responses", name)
		if len(answer.Content) == 0 {
			t.Errorf("the error response %s has no example", name)
		}
	}
	if checked < 120 {
		t.Errorf("got %d bodies with examples, want at least 120", checked)
	}
	// A check that accepts everything would be none.
	if schemas.Validate([]byte(`{"error_code":1}`), "components", "schemas", "Error") == nil {
		t.Error("a wrong example is valid")
	}
	unused := maps.Clone(examplePath)
	for _, o := range operations() {
		for part := range strings.SplitSeq(o.route, "/") {
			delete(unused, strings.TrimPrefix(part, ":"))
		}
	}
	if len(unused) > 0 {
		t.Errorf("no path has %v", unused)
	}
}

type exampleBody struct {
	Content map[string]struct {
		Schema   map[string]any
		Example  json.RawMessage
		Examples map[string]struct {
			Ref   string `json:"$ref"`
			Value json.RawMessage
		}
	}
}

type exampleOperation struct {
	Parameters []struct {
		Name, In, Description string
		Example               json.RawMessage
	}
	RequestBody exampleBody
	Responses   map[string]exampleBody
}
