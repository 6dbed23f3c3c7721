package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/api"
)

var update = flag.Bool("update", false, "rewrite the documents of openapi")

type object = openapi.Object

// operation describes a route of a dialect.
type operation struct {
	route, id, summary, more string
	params                   []param
	body                     any               // a value of the type; nil for none
	requests                 map[string]string // its examples, by name
	kind                     string            // media type of the answer; "" for JSON
	event                    string            // of a stream of events: their type
	answer                   any               // a value of the type of a success, or a slice of such types
	responses                map[string]string // examples of a success, by name
	status                   int               // of a success; 0 for 200
	codes                    []wire.Code
}

// param is a parameter in a path, query or header.
type param struct {
	in, name, about string
	schema          object
	example         any
}

// document is what the document of a dialect has besides its routes.
type document struct {
	title, about string
	envelope     bool // of every success
	operations   []operation
	bounds       map[string]object // of the fields of request bodies, by "Type.name"
	strict       bool              // unknown fields are errors
	noToken      []string          // routes that are open where reads.anonymous is on
}

// make returns the document of a dialect.
func (d *document) make(t *testing.T, dialect *api.Dialect) []byte {
	t.Helper()
	m := &openapi.Maker{
		T: t, Schemas: object{}, Comments: openapi.Comments(t, "*.go"), Meanings: maps.Clone(meanings),
		Types: map[reflect.Type]object{
			reflect.TypeFor[numericID](): {
				"oneOf": []object{withType("integer", ofScore), {"type": "string"}},
			},
		},
	}
	maps.Copy(m.Comments, openapi.Comments(t, "../../../client/wire/write.go"))
	paths := object{}
	for i := range d.operations {
		o := &d.operations[i]
		method, path, _ := strings.Cut(o.route, " ")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(method)] = d.operation(m, o, dialect)
	}
	if d.envelope { // its errors have a shape of their own
		m.SchemaOf(reflect.TypeFor[failure]())
	} else {
		m.SchemaOf(reflect.TypeFor[wire.Error]())
	}
	return openapi.Marshal(t, object{
		"openapi": "3.1.0",
		"info":    object{"title": "scoreboard: " + d.title, "version": "1", "description": d.about},
		"servers": []object{{"url": "/"}}, // where it is mounted: see api.Mount
		"tags":    []object{{"name": dialect.Name, "description": "The routes of " + dialect.Name + "."}},
		"paths":   paths, "security": []object{{"token": []string{}}},
		"components": object{
			"schemas": m.Schemas,
			"securitySchemes": object{
				"token": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
			},
		},
	})
}

func (d *document) operation(m *openapi.Maker, o *operation, dialect *api.Dialect) object {
	op := object{"tags": []string{dialect.Name}, "summary": o.summary, "operationId": o.id}
	if o.more != "" {
		op["description"] = o.more
	}
	if slices.Contains(d.noToken, o.route) {
		op["security"] = []object{{}, {"token": []string{}}}
	}
	var parameters []object
	for _, p := range o.params {
		described := object{
			"name": p.name, "in": p.in, "description": openapi.Sentence(p.about), "schema": p.schema,
			"required": p.in == "path", "example": p.example,
		}
		if p.in == "query" {
			described["allowEmptyValue"] = true
		}
		parameters = append(parameters, described)
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if o.body != nil {
		schema := m.SchemaOf(reflect.TypeOf(o.body))
		d.restrict(m, reflect.TypeOf(o.body))
		op["requestBody"] = object{"required": true, "content": object{
			"application/json": object{"schema": schema, "examples": named(m.T, o.requests)},
		}}
	}
	answers := object{}
	for status, bodies := range d.failures(o, dialect) {
		schema := object{"$ref": "#/components/schemas/Error"}
		if d.envelope {
			schema["$ref"] = "#/components/schemas/Failure"
		}
		answers[strconv.Itoa(status)] = object{
			"description": http.StatusText(status),
			"content":     object{"application/json": object{"schema": schema, "examples": bodies}},
		}
	}
	status := cmp.Or(o.status, http.StatusOK)
	answer := object{"description": http.StatusText(status)}
	if o.answer != nil {
		kind := o.kind
		if kind == "" {
			kind = "application/json"
		}
		schema := d.answer(m, o.answer, d.envelope && status == http.StatusOK)
		examples := named(m.T, o.responses)
		if o.kind == openapi.EventStream {
			schema = openapi.Event(schema)
			for name, example := range examples {
				value := example.(object)["value"]
				examples[name] = object{"value": openapi.ExampleEvent(m.T, "1795404827525177:12", o.event, value)}
			}
		}
		answer["content"] = object{kind: object{"schema": schema, "examples": examples}}
	}
	answers[strconv.Itoa(status)] = answer
	answers["431"] = openapi.HeaderTooLarge()
	op["responses"] = answers
	return op
}

// answer is the schema of a success, or of the frames of a stream.
func (d *document) answer(m *openapi.Maker, v any, envelope bool) object {
	if several, ok := v.([]any); ok {
		var schemas []object
		for _, one := range several {
			schemas = append(schemas, d.answer(m, one, envelope))
		}
		return object{"oneOf": schemas}
	}
	schema := m.SchemaOf(reflect.TypeOf(v))
	if !envelope {
		return schema
	}
	return object{
		"type": "object", "required": []string{"success", "data"}, "additionalProperties": false,
		"properties": object{
			"success": object{"const": true, "description": "Always true."}, "data": schema,
		},
	}
}

// restrict adds the bounds of a type of request bodies to its schema.
func (d *document) restrict(m *openapi.Maker, t reflect.Type) {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	schema := m.Schemas[name].(object)
	if d.strict {
		schema["additionalProperties"] = false
	}
	for field, p := range schema["properties"].(object) {
		bounds, ok := d.bounds[field]
		if !ok {
			m.T.Errorf("%s of %s has no bounds", field, t)
		}
		maps.Copy(p.(object), bounds)
	}
}

// failures are the errors of an operation as the dialect answers them: by status, the
// example of each native code.
func (d *document) failures(o *operation, dialect *api.Dialect) map[int]object {
	all := map[int]object{}
	for _, code := range slices.Concat(o.codes, everywhere) {
		e := exampleErrors[code]
		e.ErrorCode, e.RequestID = string(code), "01KAXR4T0V8Q6S2M5N7P9W3Y1Z"
		if e.Message == "" {
			e.Message = strings.ReplaceAll(string(code), "_", " ")
		}
		status, body := dialect.Error(api.StatusOf(code), &e)
		if all[status] == nil {
			all[status] = object{}
		}
		all[status][string(code)] = object{"value": body}
	}
	return all
}

// named are examples by name. The text is JSON.
func named(t testing.TB, texts map[string]string) object {
	t.Helper()
	values := object{}
	for name, text := range texts {
		var v any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&v); err != nil {
			t.Errorf("the example %s: %v", text, err)
		}
		values[name] = object{"value": v}
	}
	return values
}

// dialectsOfTest are all dialects, with their defaults.
func dialectsOfTest(t *testing.T) map[string]*api.Dialect {
	t.Helper()
	c := config.Dialects{Names: config.DialectNames}
	for _, name := range config.DialectNames {
		*c.Named(name) = config.Dialect{Base: "/", Board: "global", Signature: config.SignatureOptional}
	}
	all := map[string]*api.Dialect{}
	for _, d := range New(Options{Config: &c}) {
		all[d.Name] = d
	}
	return all
}

// The embedded documents are what the routes, their types and their comments generate,
// are complete, and their examples are valid.
func TestOpenAPIDocuments(t *testing.T) {
	t.Parallel()
	dialects := dialectsOfTest(t)
	for name, d := range documents() {
		want := d.make(t, dialects[name])
		if *update {
			if err := os.WriteFile("openapi/"+name+".json", want, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if !bytes.Equal(dialects[name].Document, want) {
			t.Errorf("openapi/%s.json is outdated; rewrite it with: "+
				"go test ./server/http/dialect -run OpenAPIDocuments -update", name)
		}
		openapi.Check(t, want)
		described := map[string]bool{}
		for i := range d.operations {
			described[d.operations[i].route] = true
		}
		for _, r := range dialects[name].Routes {
			route := r.Method + " " + openapi.InBraces(r.Path)
			if !described[route] {
				t.Errorf("%s: %s is not described", name, route)
			}
			delete(described, route)
		}
		for route := range described {
			t.Errorf("%s: %s is described and is not a route", name, route)
		}
	}
	if len(documents()) != len(config.DialectNames) {
		t.Error("a dialect has no document")
	}
}
