package promise_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// object is one of a JSON document. Documents are read so, because only a few members matter.
type object = map[string]any

// schemas writes the facts of schemas under components, once for each direction in which one is used.
type schemas struct {
	t        *testing.T
	document object
	facts    facts
	seen     map[string]bool
}

func (s schemas) resolve(ref string) object {
	var at any = s.document
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at = member(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	o, _ := at.(object)
	return o
}

func member(of any, name string) any {
	o, _ := of.(object)
	return o[name]
}

// typeOf returns the type of a schema in words, and writes the facts of what it consists of under name. direction
// is "in" or "out".
func (s schemas) typeOf(direction, name string, schema object) string {
	if ref, ok := schema["$ref"].(string); ok {
		short := ref[strings.LastIndex(ref, "/")+1:]
		if key := direction + " " + short; !s.seen[key] {
			s.seen[key] = true
			if is := s.typeOf(direction, key, s.resolve(ref)); is != "object" {
				s.facts.add(key, is)
			}
		}
		return short
	}
	s.checkKeywords(name, schema)
	for _, several := range []string{"oneOf", "anyOf", "allOf"} {
		of, _ := schema[several].([]any)
		if len(of) == 0 {
			continue
		}
		if schema["properties"] != nil { // it says which of them are required together
			if direction == "in" {
				s.facts.add(name+together, asJSON(of))
			}
			continue
		}
		var all []string
		for i, one := range of {
			sub, _ := one.(object)
			all = append(all, s.typeOf(direction, fmt.Sprintf("%s.%d", name, i), sub))
		}
		return strings.Join(all, " or ")
	}
	s.bounds(direction, name, schema)
	is := fmt.Sprint(schema["type"])
	if schema["type"] == nil {
		is = "any"
	}
	if format, ok := schema["format"].(string); ok {
		is += " " + format
	}
	if content, ok := schema["contentSchema"].(object); ok {
		is += fmt.Sprintf(" of %v: %s", schema["contentMediaType"], s.typeOf(direction, name+"()", content))
	}
	if items, ok := schema["items"].(object); ok {
		return "list of " + s.typeOf(direction, name+"[]", items)
	}
	if values, ok := schema["additionalProperties"].(object); ok && len(values) > 0 {
		return "map of " + s.typeOf(direction, name+"{}", values)
	}
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]any)
	for field, of := range properties {
		sub, _ := of.(object)
		need := "optional"
		if slices.Contains(required, any(field)) {
			need = "required"
		}
		s.facts.add(name+"."+field, need+" "+s.typeOf(direction, name+"."+field, sub))
	}
	return is
}

// bounds writes the values of an enum, and the bounds of what clients send.
func (s schemas) bounds(direction, name string, schema object) {
	values, _ := schema["enum"].([]any)
	if one, ok := schema["const"]; ok {
		values = []any{one}
	}
	for _, v := range values {
		s.facts.add(fmt.Sprintf("%s = %v", name, v), "value")
	}
	if direction != "in" {
		return
	}
	for keyword, words := range map[string]string{
		"maximum": atMost, "maxLength": " length" + atMost, "maxItems": " items" + atMost,
		"minimum": atLeast, "minLength": " length" + atLeast, "minItems": " items" + atLeast,
		"maxProperties": " properties" + atMost, "minProperties": " properties" + atLeast,
	} {
		if v, ok := schema[keyword].(json.Number); ok {
			s.facts.add(name+words, v.String())
		}
	}
	if of, ok := schema["pattern"].(string); ok {
		s.facts.add(name+pattern, of)
	}
	if schema["uniqueItems"] == true {
		s.facts.add(name+distinct, "list")
	}
	if v, ok := schema["default"]; ok {
		s.facts.add(name+" default", asJSON(v))
	}
}

// keywords are those of schemas that are read, or promise nothing.
const keywords = " $ref type format enum const properties required items additionalProperties oneOf anyOf allOf " +
	"maximum maxLength maxItems maxProperties minimum minLength minItems minProperties pattern uniqueItems default " +
	"description title example examples contentEncoding contentMediaType contentSchema "

// checkKeywords fails for a keyword that would be ignored.
func (s schemas) checkKeywords(name string, schema object) {
	for keyword := range schema {
		if !strings.Contains(keywords, " "+keyword+" ") {
			s.t.Fatalf("%s has the keyword %s, which is not read: add it to schemas_test.go", name, keyword)
		}
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v) // with sorted members
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func readDocument(t *testing.T, file string) schemas {
	t.Helper()
	var document object
	d := json.NewDecoder(strings.NewReader(read(t, file)))
	d.UseNumber() // float64 does not have all integers
	if err := d.Decode(&document); err != nil {
		t.Fatal(err)
	}
	return schemas{t: t, document: document, facts: facts{}, seen: map[string]bool{}}
}

// httpAPI returns the facts of an OpenAPI document.
func httpAPI(t *testing.T, file string) facts {
	t.Helper()
	s := readDocument(t, file)
	for path, methods := range s.document["paths"].(object) {
		for method, o := range methods.(object) {
			s.operation(strings.ToUpper(method)+" "+path, o.(object))
		}
	}
	shared, _ := s.document["components"].(object)["responses"].(object)
	for _, r := range shared {
		if schema, ok := member(member(member(r, "content"), "application/json"), "schema").(object); ok {
			s.typeOf("out", "out error", schema)
		}
	}
	return s.facts
}

var errorCodes = regexp.MustCompile(`^[a-z_]+(, [a-z_]+)*$`)

func (s schemas) operation(name string, o object) {
	scopes := "no token"
	if security, ok := o["security"].([]any); !ok || len(security) > 0 {
		var all []string
		for _, one := range security {
			if len(one.(object)) == 0 {
				all = append(all, "none")
			}
			for scheme, of := range one.(object) {
				all = append(all, fmt.Sprint(scheme, " ", of))
			}
		}
		scopes = strings.Join(append([]string{"token"}, slices.Sorted(slices.Values(all))...), ", ")
	}
	s.facts.add(name, scopes)
	parameters, _ := o["parameters"].([]any)
	for _, p := range parameters {
		of := p.(object)
		if ref, ok := of["$ref"].(string); ok {
			of = s.resolve(ref)
		}
		need := "optional"
		if of["required"] == true {
			need = "required"
		}
		key := fmt.Sprintf("in %s %s %s", name, of["in"], of["name"])
		schema, _ := of["schema"].(object)
		s.facts.add(key, need+" "+s.typeOf("in", key, schema))
	}
	if body, ok := o["requestBody"].(object); ok {
		need := "optional"
		if body["required"] == true {
			need = "required"
		}
		for media, content := range body["content"].(object) {
			key := "in " + name + " body " + media
			schema, _ := member(content, "schema").(object)
			s.facts.add(key, need+" "+s.typeOf("in", key, schema))
		}
	}
	for status, r := range o["responses"].(object) {
		if ref, ok := member(r, "$ref").(string); ok { // errors, described by their codes
			codes, _ := member(s.resolve(ref), "description").(string)
			if errorCodes.MatchString(codes) {
				for code := range strings.SplitSeq(codes, ", ") {
					s.facts.add("out error_code "+code, "status "+status)
				}
			}
			continue
		}
		key := "out " + name + " " + status
		content, _ := member(r, "content").(object)
		s.facts.add(key, "response")
		for media, of := range content {
			schema, _ := member(of, "schema").(object)
			s.facts.add(key+" "+media, s.typeOf("out", key+" "+media, schema))
		}
	}
}

// streams returns the facts of the AsyncAPI document.
func streams(t *testing.T, file string) facts {
	t.Helper()
	s := readDocument(t, file)
	sent := map[string]bool{} // the messages that clients send
	for name, o := range s.document["operations"].(object) {
		channel := member(o, "channel").(object)["$ref"].(string)
		on := channel[strings.LastIndex(channel, "/")+1:]
		s.facts.add("operation "+name, fmt.Sprint(member(o, "action"), " on ", on))
		if member(o, "action") == "receive" { // by the server
			messages, _ := member(s.resolve(channel), "messages").(object)
			if listed, ok := member(o, "messages").([]any); ok {
				messages = object{}
				for _, m := range listed {
					ref := m.(object)["$ref"].(string)
					messages[ref[strings.LastIndex(ref, "/")+1:]] = nil
				}
			}
			for m := range messages {
				sent[m] = true
			}
		}
	}
	for name, c := range s.document["channels"].(object) {
		s.facts.add("channel "+name, fmt.Sprint(member(c, "address")))
		messages, _ := member(c, "messages").(object)
		for m := range messages {
			s.facts.add("channel "+name+" message "+m, "message")
		}
		if query, ok := member(member(member(c, "bindings"), "ws"), "query").(object); ok {
			s.typeOf("in", "in channel "+name+" query", query)
		}
	}
	messages := s.document["components"].(object)["messages"].(object)
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		direction := "out"
		if sent[name] {
			direction = "in"
		}
		if headers, ok := member(messages[name], "headers").(object); ok {
			s.typeOf(direction, direction+" message "+name+" headers", headers)
		}
		payload, _ := member(messages[name], "payload").(object)
		s.typeOf(direction, direction+" message "+name, payload)
	}
	return s.facts
}
