// Package docs serves the documentation at /docs: the Markdown of the repository and the
// reference of the API as pages, with a search that runs in the browser. Nothing is
// loaded from other hosts. Without scripts the pages are complete, but for the search.
package docs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/design"
)

// Policy is the content security policy of the pages: they load their own style, script,
// pictures and search index, and nothing else.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Reference is the name of the page about the native API. The page about a dialect's API
// is called api-NAME.
const Reference = "api"

// API is an OpenAPI document that the site shows as a page.
type API struct {
	Dialect  string // whose API it is; "" for the native one
	Path     string // of the document
	Document []byte
}

// page returns the name of the page.
func (a *API) page() string {
	if a.Dialect == "" {
		return Reference
	}
	return Reference + "-" + a.Dialect
}

// title returns the title of the page.
func (a *API) title() string {
	if a.Dialect == "" {
		return "API reference"
	}
	return "API reference: " + a.Dialect
}

// Index is the name of the page that lists the others.
const Index = ""

var (
	//go:embed page.html.tmpl
	pageTemplate string
	//go:embed reference.html.tmpl
	referenceTemplate string
	//go:embed style.css
	styleSheet []byte
	//go:embed search.js
	searchScript []byte
	// Built by npm run web in sdk/typescript.
	//go:embed minisearch.js
	searchLibrary []byte
)

// Site is the documentation. It is rendered on the first request, because most processes
// never get one.
type Site struct {
	build func() (map[string]*file, error)
}

// file is what is answered for one name.
type file struct {
	kind, etag string
	body       []byte
}

// New returns the site of the Markdown in source (README.md and docs/), and of OpenAPI
// documents. The pages link each other relatively, so that they also work below a path of
// a proxy: the index must be served at a path, and the others below it.
func New(source fs.FS, apis ...API) *Site {
	return &Site{build: sync.OnceValues(func() (map[string]*file, error) { return build(source, apis) })}
}

// Serve answers with a page or one of their files: Index, a page's name such as
// "security", "style.css". It returns false, and has written nothing, if there is none of
// that name. An error means that the documentation cannot be rendered.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request, name string) (bool, error) {
	files, err := s.build()
	if err != nil {
		return false, err
	}
	f, ok := files[name]
	if !ok {
		return false, nil
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "max-age=300")
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Etag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
	return true, nil
}

// group is a part of the list of pages.
type group struct {
	Title string
	Pages []*page
}

// page is one page of the site.
type page struct {
	Name, Title, About string
	content            template.HTML
	contents           []heading // the page's own list of sections; empty if it needs none
	sections           []section
}

// section is an entry of the search index: a part of a page, from a heading to the next.
type section struct {
	Page    string `json:"page"`
	Title   string `json:"title"` // of the page
	ID      string `json:"id,omitempty"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
}

// treePath is the page that lists the others, by reader. The site takes its groups, titles and
// descriptions from it.
const treePath = "docs/README.md"

// build renders everything.
func build(source fs.FS, apis []API) (map[string]*file, error) {
	sources, err := find(source)
	if err != nil {
		return nil, err
	}
	pages := make(map[string]*page)
	for name, at := range sources {
		if name == Index {
			continue // its entries are the lists of the pages
		}
		if pages[name], err = renderMarkdown(source, at, name, sources); err != nil {
			return nil, fmt.Errorf("render %s: %w", at, err)
		}
	}
	for i := range apis {
		name := apis[i].page()
		if pages[name] != nil {
			return nil, fmt.Errorf("the page %s has the name of the page of an API", name)
		}
		if pages[name], err = renderReference(&apis[i]); err != nil {
			return nil, err
		}
	}
	tree, err := fs.ReadFile(source, treePath)
	if err != nil {
		return nil, fmt.Errorf("read the list of pages: %w", err)
	}
	groups := arrange(string(tree), pages, sources)
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the template of pages: %w", err)
	}
	files := make(map[string]*file)
	add := func(name, kind string, body []byte) {
		sum := sha256.Sum256(body)
		files[name] = &file{kind: kind, etag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
	}
	pages[Index] = &page{Title: "Documentation"}
	var index []section
	for _, p := range pages {
		var b bytes.Buffer
		base := "" // what is before the names of pages in links
		if p.Name == Index {
			base = "docs/"
		}
		headline, content, found := strings.Cut(string(p.content), "</h1>\n")
		if found {
			headline += "</h1>"
		}
		err := t.Execute(&b, map[string]any{
			"Page": p, "Base": base, "Groups": groups, "Contents": p.contents,
			"Headline": template.HTML(headline), "Content": template.HTML(content), //nolint:gosec // parts of p.content
		})
		if err != nil {
			return nil, fmt.Errorf("render the page %s: %w", p.Name, err)
		}
		add(p.Name, "text/html; charset=utf-8", b.Bytes())
	}
	for _, g := range groups {
		for _, p := range g.Pages {
			index = append(index, p.sections...)
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, fmt.Errorf("encode the search index: %w", err)
	}
	add("search.json", "application/json", text)
	add("search.js", "text/javascript; charset=utf-8", searchScript)
	add("minisearch.js", "text/javascript; charset=utf-8", searchLibrary)
	add("style.css", "text/css; charset=utf-8", append([]byte(design.CSS()), styleSheet...))
	for suffix, kind := range map[string]string{".svg": "image/svg+xml", ".png": "image/png"} {
		pictures, err := fs.Glob(source, "docs/screens/*"+suffix)
		if err != nil {
			return nil, err
		}
		for _, at := range pictures {
			body, err := fs.ReadFile(source, at)
			if err != nil {
				return nil, err
			}
			add(path.Base(at), kind, body)
		}
	}
	return files, nil
}

// find returns the Markdown files by the names of their pages. A README.md of a folder is
// called as the folder, and the list of pages Index.
func find(source fs.FS) (map[string]string, error) {
	sources := make(map[string]string)
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/runbook/*.md", "docs/decisions/README.md"} {
		found, err := fs.Glob(source, pattern)
		if err != nil {
			return nil, err
		}
		for _, at := range found {
			name := strings.ToLower(strings.TrimSuffix(path.Base(at), ".md"))
			switch folder := path.Base(path.Dir(at)); {
			case at == treePath:
				name = Index
			case name == "readme" && folder != ".":
				name = folder
			}
			if other, twice := sources[name]; twice {
				return nil, fmt.Errorf("%s has the name of another page, %s", at, other)
			}
			sources[name] = at
		}
	}
	return sources, nil
}

// entry is a line of the list of pages: its title, its file and what it is about.
var entry = regexp.MustCompile(`^- \[(.+?)\]\((\S+?)\): (.+)$`)

// arrange sorts the pages into the groups of the list of pages: its second-level headings.
// Pages that it lacks come last: the pages of the runbook, one for each alert, and any others.
func arrange(tree string, pages map[string]*page, sources map[string]string) []group {
	names := make(map[string]string, len(sources)) // by path
	for name, at := range sources {
		names[at] = name
	}
	var groups []group
	listed := make(map[string]bool)
	for line := range strings.Lines(tree) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			groups = append(groups, group{Title: title})
			continue
		}
		found := entry.FindStringSubmatch(line)
		if found == nil || groups == nil {
			continue
		}
		at := path.Join(path.Dir(treePath), found[2])
		name, ok := names[at]
		if !ok {
			name = referenceName(at)
		}
		if p := pages[name]; p != nil {
			p.About, listed[name] = found[3], true
			last := &groups[len(groups)-1]
			last.Pages = append(last.Pages, p)
		}
	}
	alerts, more := group{Title: "Alerts"}, group{Title: "More"}
	for name, p := range pages {
		switch {
		case listed[name]:
		case path.Dir(sources[name]) == "docs/runbook":
			alerts.Pages = append(alerts.Pages, p)
		default:
			more.Pages = append(more.Pages, p)
		}
	}
	for _, g := range []group{alerts, more} {
		slices.SortFunc(g.Pages, func(a, b *page) int { return cmp.Compare(a.Name, b.Name) })
		if g.Pages != nil {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		for _, p := range g.Pages {
			for i := range p.sections {
				p.sections[i].Page, p.sections[i].Title = p.Name, p.Title
			}
		}
	}
	return groups
}

// referenceName is the name of the page about the API whose OpenAPI document is at a path of
// the repository.
func referenceName(at string) string {
	switch name, ok := strings.CutSuffix(path.Base(at), ".json"); {
	case !ok:
		return ""
	case name == "openapi":
		return Reference
	default:
		return Reference + "-" + name
	}
}
