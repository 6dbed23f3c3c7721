package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The parts of an OpenAPI document that the reference renders.
type (
	apiDocument struct {
		Info struct {
			Title       string `json:"title"`
			Description string `json:"description"`
		} `json:"info"`
		Servers []struct {
			URL string `json:"url"`
		} `json:"servers"`
		Tags []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tags"`
		Paths      map[string]map[string]*apiOperation `json:"paths"`
		Components struct {
			Schemas   map[string]apiSchema `json:"schemas"`
			Responses map[string]apiAnswer `json:"responses"` // of errors; operations refer to them
			Examples  map[string]struct {
				Value json.RawMessage `json:"value"`
			} `json:"examples"` // of errors, by code
		} `json:"components"`
	}
	apiOperation struct {
		ID          string               `json:"operationId"`
		Tags        []string             `json:"tags"`
		Summary     string               `json:"summary"`
		Description string               `json:"description"`
		Parameters  []apiParameter       `json:"parameters"`
		RequestBody *apiAnswer           `json:"requestBody"`
		Responses   map[string]apiAnswer `json:"responses"`
		Security    *[]apiSecurity       `json:"security"`
		Example     string               `json:"-"` // a request and its response, as HTTP
	}
	// apiSecurity is one way to be allowed: the scopes that a token must have. One without
	// a token is empty.
	apiSecurity struct {
		Token *[]string `json:"token"`
	}
	apiParameter struct {
		Name        string          `json:"name"`
		In          string          `json:"in"`
		Description string          `json:"description"`
		Schema      apiSchema       `json:"schema"`
		Example     json.RawMessage `json:"example"`
	}
	apiAnswer struct {
		Ref         string             `json:"$ref"`
		Description string             `json:"description"`
		Content     map[string]apiBody `json:"content"`
	}
	apiBody struct {
		Schema   apiSchema       `json:"schema"`
		Example  json.RawMessage `json:"example"`
		Examples map[string]struct {
			Value json.RawMessage `json:"value"`
		} `json:"examples"`
	}
	apiSchema struct {
		Ref         string               `json:"$ref"`
		Type        any                  `json:"type"`
		Format      string               `json:"format"`
		Description string               `json:"description"`
		Properties  map[string]apiSchema `json:"properties"`
		Required    []string             `json:"required"`
		Items       *apiSchema           `json:"items"`
		OneOf       []apiSchema          `json:"oneOf"`
		Content     *apiSchema           `json:"contentSchema"` // of a string that is JSON
		Enum        []any                `json:"enum"`
		Minimum     *int64               `json:"minimum"`
		Maximum     *int64               `json:"maximum"`
		MinLength   *int                 `json:"minLength"`
		MaxLength   *int                 `json:"maxLength"`
		MinItems    *int                 `json:"minItems"`
		MaxItems    *int                 `json:"maxItems"`
	}
)

// Token says which token an operation needs.
func (o *apiOperation) Token() string {
	if o.Security == nil {
		return "any"
	}
	var all []string
	for _, s := range *o.Security {
		switch {
		case s.Token == nil:
			all = append(all, "none")
		case len(*s.Token) == 0:
			all = append(all, "any")
		default:
			all = append(all, "one with the scope "+strings.Join(*s.Token, " and "))
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", or ")
}

// Name returns the type name in a reference.
func (s apiSchema) Name() string { return s.Ref[strings.LastIndex(s.Ref, "/")+1:] }

// Data returns the schema of the data of a server-sent event; nil for every other value.
func (s apiSchema) Data() *apiSchema {
	if data := s.Properties["data"]; data.Content != nil {
		return &data
	}
	return nil
}

// Kind returns a readable type: integer, string (date-time), list of Entry.
func (s apiSchema) Kind() string {
	switch {
	case s.Ref != "":
		return s.Name()
	case s.Items != nil:
		return "list of " + s.Items.Kind()
	case len(s.OneOf) > 0:
		var kinds []string
		for _, one := range s.OneOf {
			kinds = append(kinds, one.Kind())
		}
		return strings.Join(kinds, " or ")
	}
	kind := strings.Trim(fmt.Sprint(s.Type), "[]")
	if kind = strings.ReplaceAll(kind, " null", " or null"); kind == "<nil>" {
		kind = "anything"
	}
	if s.Format != "" && s.Format != "int64" {
		kind += " (" + s.Format + ")"
	}
	return kind
}

// IsRequired reports whether a property is always present.
func (s apiSchema) IsRequired(property string) bool { return slices.Contains(s.Required, property) }

// Limits returns the bounds of a value in words; empty if it has none.
func (s apiSchema) Limits() string {
	var all []string
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			if v != "" { // an empty value is as an absent one
				values = append(values, fmt.Sprint(v))
			}
		}
		all = append(all, "one of "+strings.Join(values, ", "))
	}
	between := func(low, high *int64, unit string) {
		switch {
		case low != nil && high != nil && *high < 1<<53:
			all = append(all, fmt.Sprintf("%d to %d%s", *low, *high, unit))
		case low != nil:
			all = append(all, fmt.Sprintf("at least %d%s", *low, unit))
		case high != nil:
			all = append(all, fmt.Sprintf("at most %d%s", *high, unit))
		}
	}
	between(s.Minimum, s.Maximum, "")
	between(wide(s.MinLength), wide(s.MaxLength), " characters")
	between(wide(s.MinItems), wide(s.MaxItems), " items")
	return strings.Join(all, "; ")
}

func wide(n *int) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// renderReference renders an OpenAPI document as a page.
func renderReference(a *API) (*page, error) {
	var d apiDocument
	if err := json.Unmarshal(a.Document, &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document %s: %w", a.Path, err)
	}
	p := &page{Name: a.page(), Title: a.title()}
	p.sections = append(p.sections, section{Text: d.Info.Description})
	for _, at := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[at])) {
			o := d.Paths[at][method]
			o.Example = httpExample(method, at, o)
			for status, answer := range o.Responses {
				if name, isRef := strings.CutPrefix(answer.Ref, "#/components/responses/"); isRef {
					o.Responses[status] = d.Components.Responses[name]
				}
			}
			words := []string{o.Summary + ".", o.Description}
			for _, q := range o.Parameters {
				words = append(words, q.Name)
			}
			p.sections = append(p.sections, section{
				ID: o.ID, Heading: strings.ToUpper(method) + " " + at, Text: strings.Join(words, " "),
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		words := []string{s.Description}
		words = append(words, slices.Sorted(maps.Keys(s.Properties))...)
		p.sections = append(p.sections, section{ID: name, Heading: name, Text: strings.Join(words, " ")})
	}
	t, err := template.New("reference").Funcs(template.FuncMap{
		"has": slices.Contains[[]string], "upper": strings.ToUpper, "indent": indented,
	}).Parse(referenceTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the template of the reference: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct {
		*apiDocument
		API *API
	}{&d, a}); err != nil {
		return nil, fmt.Errorf("render the reference: %w", err)
	}
	p.content = template.HTML(b.String()) //nolint:gosec // from a template, which escapes
	return p, nil
}

// httpExample writes the examples of an operation as a request and its first successful
// response with a body.
func httpExample(method, at string, o *apiOperation) string {
	var b strings.Builder
	for _, p := range o.Parameters {
		if p.In == "path" {
			at = strings.ReplaceAll(at, "{"+p.Name+"}", strings.Trim(string(p.Example), `"`))
		}
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\n", strings.ToUpper(method), at)
	if !strings.HasPrefix(o.Token(), "none") {
		b.WriteString("Authorization: Bearer <token>\n")
	}
	if o.RequestBody != nil {
		writeBody(&b, o.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if answer := o.Responses[status]; len(answer.Content) > 0 && status < "300" {
			code, _ := strconv.Atoi(status)
			fmt.Fprintf(&b, "\nHTTP/1.1 %s %s\n", status, http.StatusText(code))
			writeBody(&b, answer.Content)
			break
		}
	}
	return b.String()
}

// writeBody writes a body as it is sent: JSON, lines of JSON, a server-sent event or
// text.
func writeBody(b *strings.Builder, content map[string]apiBody) {
	for kind, body := range content { // one
		fmt.Fprintf(b, "Content-Type: %s\n\n", kind)
		value := body.Example
		names := slices.Sorted(maps.Keys(body.Examples))
		switch {
		case kind == "application/x-ndjson":
			for _, name := range names {
				b.WriteString(compact(body.Examples[name].Value) + "\n")
			}
			return
		case len(names) > 0: // one of several types: show the first
			value = body.Examples[names[0]].Value
		}
		var text string
		switch {
		case kind == "text/event-stream":
			var event struct{ ID, Event, Data string }
			if json.Unmarshal(value, &event) == nil {
				fmt.Fprintf(b, "id: %s\nevent: %s\ndata: %s\n", event.ID, event.Event, event.Data)
			}
		case json.Unmarshal(value, &text) == nil:
			b.WriteString(text + "\n")
		default:
			b.WriteString(indented(value) + "\n")
		}
	}
}

func compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

func indented(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}
