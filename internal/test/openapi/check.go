package openapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// Check fails for what a document lacks: references resolve, ids are unique, parameters
// of paths are declared, every field and parameter has a description, and every body has
// examples, which are valid against its schema. It returns the examples, by "METHOD
// /path request" and "METHOD /path 200".
func Check(t testing.TB, document []byte) map[string][]json.RawMessage {
	t.Helper()
	var root any
	var d struct {
		OpenAPI string
		Info    struct{ Title, Version, Description string }
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID, Summary string
			Parameters           []struct {
				Name, In, Description string
				Required              bool
			}
			RequestBody json.RawMessage
			Responses   map[string]json.RawMessage
		}
		Components struct {
			Schemas map[string]struct {
				Description string
				Properties  map[string]struct{ Description string }
			}
		}
	}
	for _, to := range []any{&root, &d} {
		if err := json.Unmarshal(document, to); err != nil {
			t.Fatal(err)
		}
	}
	if d.OpenAPI != "3.1.0" || d.Info.Title == "" || d.Info.Version == "" || len(d.Servers) != 1 {
		t.Errorf("got openapi %q, info %+v, servers %v", d.OpenAPI, d.Info, d.Servers)
	}
	CheckReferences(t, root)
	c := checker{t, NewDocument(t, document), map[string][]json.RawMessage{}}
	for name, s := range d.Components.Schemas {
		c.sentence(name, s.Description)
		for field, p := range s.Properties {
			c.sentence(name+"."+field, p.Description)
		}
	}
	ids := map[string]bool{}
	for path, methods := range d.Paths {
		for method, o := range methods {
			name := strings.ToUpper(method) + " " + path
			if o.OperationID == "" || ids[o.OperationID] || o.Summary == "" || len(o.Responses) < 2 {
				t.Errorf("%s: got the id %q, the summary %q and %d responses",
					name, o.OperationID, o.Summary, len(o.Responses))
			}
			ids[o.OperationID] = true
			var inPath []string
			for _, p := range o.Parameters {
				c.sentence(name+" "+p.Name, p.Description)
				if p.In == "path" && p.Required {
					inPath = append(inPath, p.Name)
				}
			}
			CheckPath(t, name, path, inPath)
			if o.RequestBody != nil {
				c.body(name+" request", o.RequestBody, "paths", path, method, "requestBody")
			}
			for status, answer := range o.Responses {
				c.body(name+" "+status, answer, "paths", path, method, "responses", status)
			}
		}
	}
	return c.examples
}

type checker struct {
	t        testing.TB
	schemas  *Document
	examples map[string][]json.RawMessage
}

// sentence checks a description. It does not begin with the name of a Go type or field, as its comment does.
func (c checker) sentence(of, text string) {
	c.t.Helper()
	first, _, _ := strings.Cut(text, " ")
	_, field, _ := strings.Cut(of, ".")
	if first == of || field != "" && strings.EqualFold(first, field) && strings.Contains(field, "_") {
		c.t.Errorf("%s: the description begins with its name: %q", of, text)
	}
	if len(text) < 6 || !strings.HasSuffix(text, ".") {
		c.t.Errorf("%s: got the description %q, want a sentence", of, text)
	}
}

// body checks the examples of a body at a path of the document.
func (c checker) body(name string, text json.RawMessage, path ...string) {
	c.t.Helper()
	var b struct {
		Description string
		Content     map[string]struct {
			Example  json.RawMessage
			Examples map[string]struct{ Value json.RawMessage }
		}
	}
	if err := json.Unmarshal(text, &b); err != nil {
		c.t.Fatal(err)
	}
	for kind, content := range b.Content {
		found := []json.RawMessage{}
		if content.Example != nil {
			found = append(found, content.Example)
		}
		for _, e := range content.Examples {
			found = append(found, e.Value)
		}
		if len(found) == 0 {
			c.t.Errorf("%s: no example", name)
		}
		for _, example := range found {
			schema := append(slices.Clone(path), "content", kind, "schema")
			if err := c.schemas.Validate(example, schema...); err != nil {
				c.t.Errorf("%s: %s: %v", name, example, err)
			}
		}
		c.examples[name] = append(c.examples[name], found...)
	}
}

// CheckReferences fails for a reference that does not resolve in a document.
func CheckReferences(t testing.TB, document any) {
	t.Helper()
	walk(document, func(node Object) {
		if ref, ok := node["$ref"].(string); ok && Resolve(document, ref) == nil {
			t.Errorf("%s does not resolve", ref)
		}
	})
}

// CheckPath fails for a placeholder of an operation's path without a parameter.
func CheckPath(t testing.TB, operation, path string, parameters []string) {
	t.Helper()
	for _, part := range placeholder.FindAllStringSubmatch(path, -1) {
		if !slices.Contains(parameters, part[1]) {
			t.Errorf("%s: {%s} is not a parameter", operation, part[1])
		}
	}
}

// InBraces returns the path of a route as OpenAPI writes it: /:id is /{id}.
func InBraces(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

func walk(v any, visit func(Object)) {
	switch v := v.(type) {
	case Object:
		visit(v)
		for _, child := range v {
			walk(child, visit)
		}
	case []any:
		for _, child := range v {
			walk(child, visit)
		}
	}
}

// Resolve returns what a reference such as #/components/schemas/Error is to, nil for
// nothing.
func Resolve(node any, ref string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		m, ok := node.(Object)
		if !ok {
			return nil
		}
		node = m[part]
	}
	return node
}

// Marshal returns a document as it is stored.
func Marshal(t testing.TB, document Object) []byte {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(document); err != nil {
		t.Fatal(fmt.Errorf("encode the document: %w", err))
	}
	return []byte(b.String())
}
