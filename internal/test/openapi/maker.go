// Package openapi makes OpenAPI 3.1 documents from Go types and their comments, and
// checks them, in tests: the document of the native API and those of the dialects.
package openapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Object is a JSON object.
type Object = map[string]any

// Maker makes the schemas of types. Each struct becomes one of Schemas, described by the
// comments on it and its fields.
type Maker struct {
	T        testing.TB
	Schemas  Object                  // by name, added to by SchemaOf
	Comments map[string]string       // see Comments
	Meanings map[string]string       // of fields without a comment, by their JSON name
	Types    map[reflect.Type]Object // schemas of types with a JSON form of their own
	Answers  map[string]Object       // more of the schema of a field, by "Type.name"

	used map[string]bool // the meanings that were used
}

// CheckMeanings fails for a meaning that no field needed.
func (m *Maker) CheckMeanings() {
	m.T.Helper()
	for name := range m.Meanings {
		if !m.used[name] {
			m.T.Errorf("a meaning describes %s, which no field needs", name)
		}
	}
}

// SchemaOf returns the schema of a type; structs become named schemas.
func (m *Maker) SchemaOf(t reflect.Type) Object {
	if schema, ok := m.Types[t]; ok {
		return maps.Clone(schema)
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return Object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return Object{}
	case t == reflect.TypeFor[wire.Object]():
		return Object{"type": "object", "additionalProperties": true}
	case t == reflect.TypeFor[[]byte]():
		return Object{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.SchemaOf(t.Elem())
	case reflect.Slice, reflect.Array:
		return Object{"type": "array", "items": m.SchemaOf(t.Elem())}
	case reflect.Map:
		return Object{"type": "object", "additionalProperties": m.SchemaOf(t.Elem())}
	case reflect.String:
		return Object{"type": "string"}
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return Object{"type": "number"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return Object{"type": "integer", "format": "int64"}
	case reflect.Interface:
		return Object{}
	case reflect.Struct:
		name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if _, known := m.Schemas[name]; !known {
			schema := Object{"type": "object"}
			m.Schemas[name] = schema // before its fields, for recursive types
			m.describe(schema, t)
		}
		return Object{"$ref": "#/components/schemas/" + name}
	}
	m.T.Fatalf("%s has no schema", t)
	return nil
}

func (m *Maker) describe(schema Object, t reflect.Type) {
	if about := m.about(t, t.Name()); about != "" {
		schema["description"] = about
	}
	properties := Object{}
	required := []string{}
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("json")
		if !ok || !f.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		p := m.SchemaOf(f.Type)
		optional := strings.Contains(options, "omit")
		if f.Type.Kind() == reflect.Pointer && !optional && p["type"] != nil {
			p["type"] = []any{p["type"], "null"}
		}
		maps.Copy(p, m.Answers[t.Name()+"."+name])
		p["description"] = m.aboutField(t, f, name)
		properties[name] = p
		if !optional {
			required = append(required, name)
		}
	}
	schema["properties"] = properties
	if len(required) > 0 {
		schema["required"] = required
	}
}

// aboutField returns the comment on a field of t, else what Meanings says.
func (m *Maker) aboutField(t reflect.Type, f reflect.StructField, name string) string {
	owner := t // or the type that t embeds, which declares the field
	for _, i := range f.Index[:len(f.Index)-1] {
		owner = owner.Field(i).Type
	}
	about := m.about(owner, owner.Name()+"."+f.Name)
	if about == "" {
		if about = m.Meanings[name]; about == "" {
			m.T.Errorf("%s.%s has no comment: say what it means, with its unit and limits", owner, f.Name)
		}
		if m.used == nil {
			m.used = map[string]bool{}
		}
		m.used[name] = true
	}
	return Sentence(about)
}

// valueFirst is a text that begins with a value, such as: open, dismissed or confirmed.
var valueFirst = regexp.MustCompile(`^[a-z0-9._-]+(,|:| \(| or )`)

// Sentence begins a text with a capital, unless it begins with a value, and ends it
// with a full stop.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	if !valueFirst.MatchString(text) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return strings.TrimSuffix(text, ".") + "."
}

var verbFirst = regexp.MustCompile(`^(changes|counts|holds|lists|reverses) `)

// about returns a comment on t or one of its fields, for readers who see the JSON
// only: without the name that it starts with, as in "Key is a signing key", and with
// the JSON names of the fields in place of their Go names.
func (m *Maker) about(t reflect.Type, key string) string {
	_, field, isField := strings.Cut(key, ".")
	text, named := strings.CutPrefix(m.Comments[key], cmp.Or(field, key)+" is ")
	if lists := strings.TrimPrefix(text, field+" "); verbFirst.MatchString(lists) {
		text = lists
	}
	if named && !isField {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	names := map[string]string{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && f.Name != t.Name() {
			names[f.Name] = name
		}
	}
	return identifier.ReplaceAllStringFunc(text, func(word string) string {
		return cmp.Or(names[word], word)
	})
}

var identifier = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*\b`)

// HeaderTooLarge is the response of every operation to a request line and headers of more
// than 16 KiB, which is rejected before its route is known.
func HeaderTooLarge() Object {
	return Object{
		"description": "The request line and the headers have more than 16 KiB.",
		"content": Object{"text/plain": Object{
			"schema":   Object{"type": "string"},
			"examples": Object{"tooLarge": Object{"value": "431 Request Header Fields Too Large"}},
		}},
	}
}
