package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
)

const (
	openAPIPath = "/openapi.json"
	docsPath    = "/docs"
)

// openAPI describes every route. It is generated from the operations, the types of
// package protocol and their comments (go test ./server/api -run OpenAPIUpToDate
// -update); tests fail if it is outdated or lacks a route.
//
//go:embed openapi.json
var openAPI []byte

//go:embed docs.html.tmpl
var docsTemplate string

// page is the route of openapi.json or of the page that renders it. It needs no
// token, because neither contains data.
func (a *API) page(path string) route {
	kind, body := "application/json", openAPI
	if path == docsPath {
		var err error
		if body, err = docsPage(openAPI); err != nil { // both are embedded and tested
			panic(err)
		}
		kind = "text/html; charset=utf-8"
	}
	return route{
		method: "GET", path: path, query: anyParameters, scope: noToken, rate: byAddress, audit: unaudited,
		data: showsNothing,
		handle: func(c *gin.Context, _ *auth.Claims) error {
			c.Header("Cache-Control", "max-age=300")
			c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
			c.Data(http.StatusOK, kind, body)
			return nil
		},
	}
}

// The parts of the document that the page renders.
type (
	apiDocument struct {
		Info struct {
			Title       string `json:"title"`
			Description string `json:"description"`
		} `json:"info"`
		Tags []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tags"`
		Paths      map[string]map[string]apiOperation `json:"paths"`
		Components struct {
			Schemas   map[string]apiSchema `json:"schemas"`
			Responses map[string]apiAnswer `json:"responses"` // of errors; operations refer to them
		} `json:"components"`
	}
	apiOperation struct {
		Tags        []string             `json:"tags"`
		Summary     string               `json:"summary"`
		Description string               `json:"description"`
		Parameters  []apiParameter       `json:"parameters"`
		RequestBody *apiAnswer           `json:"requestBody"`
		Responses   map[string]apiAnswer `json:"responses"`
	}
	apiParameter struct {
		Name        string    `json:"name"`
		In          string    `json:"in"`
		Description string    `json:"description"`
		Schema      apiSchema `json:"schema"`
	}
	apiAnswer struct {
		Ref         string `json:"$ref"`
		Description string `json:"description"`
		Content     map[string]struct {
			Schema apiSchema `json:"schema"`
		} `json:"content"`
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
		Enum        []any                `json:"enum"`
	}
)

// Name returns the type name in a reference.
func (s apiSchema) Name() string { return s.Ref[strings.LastIndex(s.Ref, "/")+1:] }

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

// docsPage renders a document as a page without scripts, which works offline and
// under any content security policy.
func docsPage(document []byte) ([]byte, error) {
	var d apiDocument
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("read openapi.json: %w", err)
	}
	for _, methods := range d.Paths {
		for _, o := range methods {
			for status, answer := range o.Responses {
				if name, isRef := strings.CutPrefix(answer.Ref, "#/components/responses/"); isRef {
					o.Responses[status] = d.Components.Responses[name]
				}
			}
		}
	}
	funcs := template.FuncMap{"has": slices.Contains[[]string], "upper": strings.ToUpper}
	t, err := template.New("docs").Funcs(funcs).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the template of the docs page: %w", err)
	}
	var page bytes.Buffer
	if err := t.Execute(&page, d); err != nil {
		return nil, fmt.Errorf("render the docs page: %w", err)
	}
	return page.Bytes(), nil
}
