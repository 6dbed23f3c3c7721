package pages

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/design"
)

//go:embed front/page.html.tmpl
var frontTemplate string

// contentPolicy allows the page its own style and nothing else.
const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

// FrontPage is an http.Handler. Both forms are rendered once.
type FrontPage struct{ html, json []byte }

// NewFrontPage renders p. The paths of its links begin with a slash; the page links them
// relatively, so that it also works below a path of a proxy.
func NewFrontPage(p wire.FrontPage) *FrontPage {
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"relative": func(path string) string { return strings.TrimPrefix(path, "/") },
		"tokens":   design.CSS,
	}).Parse(frontTemplate))
	var page bytes.Buffer
	if err := t.Execute(&page, p); err != nil { // the template is embedded and tested
		panic(err)
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err)
	}
	return &FrontPage{html: page.Bytes(), json: append(text, '\n')}
}

// ServeHTTP answers with the page if the client prefers HTML, else with JSON.
func (p *FrontPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Accept")
	h.Set("Cache-Control", "max-age=300")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	kind, body := "application/json", p.json
	if prefersHTML(r.Header.Values("Accept")) {
		kind, body = "text/html; charset=utf-8", p.html
	}
	h.Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // fails only for a client that has gone
}

// prefersHTML reports whether Accept names text/html with at least the weight of
// application/json. Browsers name it, programs do not.
func prefersHTML(accept []string) bool {
	html, asJSON := 0.0, 0.0
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, parameters, _ := strings.Cut(part, ";")
		weight := 1.0
		for parameter := range strings.SplitSeq(parameters, ";") {
			if q, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
				weight, _ = strconv.ParseFloat(q, 64) // 0 if malformed
			}
		}
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "text/html":
			html = weight
		case "application/json":
			asJSON = weight
		}
	}
	return html > 0 && html >= asJSON
}
