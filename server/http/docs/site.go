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

// alertsGroup is the heading of the pages of the runbook that order lacks: one for each
// alert.
const alertsGroup = "Alerts"

// order is the order of the pages, with what they are called in lists. A page that it
// lacks comes last, under its own heading.
var order = []struct {
	group string
	pages [][3]string // name, title, about
}{
	{"Start", [][3]string{
		{"readme", "Overview", "What scoreboard is, five minutes with it, and what it guarantees."},
		{"first-point", "First point", "From an empty machine to a counted point, with Docker or without."},
	}},
	{"Build a client", [][3]string{
		{Reference, "API reference", "Every operation with an example, and every field of its data."},
		{"sdks", "Clients", "The clients for Go, TypeScript and Python, and their first lines."},
		{"boards", "Labels and rules", "List boards by labels, and count increments on boards by rules."},
		{"signing", "Signing", "How increments are signed, with test vectors and code in five languages."},
		{"protocol", "Realtime protocol", "Follow a board by WebSocket, event stream or polling."},
		{"web", "Boards on the web", "The page of a board, and boards in pages of your own."},
		{"events", "Events", "What is published to Kafka, for other systems to read."},
		{"history", "The board at a moment", "Read past standings, exactly, with ties as they were."},
		{"what-if", "What if", "Try other rules on the ledger, see who would win, and apply them as a void."},
		{"webhooks", "Webhooks", "Call your systems when a season ends, a user is flagged or reaches the top."},
		{"teams", "Teams", "Rank teams by what their members have."},
		{"friends", "Friends", "Let players ask each other, and rank them among friends."},
		{"privacy", "Privacy", "Let players hide from others on boards, under pseudonyms."},
		{"dialects", "Dialects", "Serve clients of other specifications, without a change in them."},
		{"feeds", "Feeds", "The same in the formats of other specifications, and as CloudEvents."},
		{Reference + "-highscore", "API: highscore", "The API of specification B."},
		{Reference + "-delta", "API: delta", "The API of specification C."},
		{Reference + "-module", "API: module", "The API of specification D."},
		{Reference + "-plain", "API: plain", "The API of specification E."},
		{"versions", "Versions", "What may change in API, messages, events and SDKs."},
		{"dialect-names", "Names", "What other specifications call the same things."},
	}},
	{"sbctl", [][3]string{
		{"cli", "Commands", "Every command with its flags."},
		{"json", "JSON output", "What --output json prints, for each command."},
	}},
	{"Operate", [][3]string{
		{"settings", "Settings", "Every setting: flag, variable, default and meaning."},
		{"metrics", "Metrics", "Every metric: type, labels and meaning."},
		{"console", "Console", "Watch and operate scoreboard in the browser."},
		{"moderation", "Moderation", "Bans, reversals, voids, rules, anomalies and erasure."},
		{"import", "Import and export", "Move boards from Nakama, Podium or CSV files, and out again."},
		{"security", "Security", "Credentials, threats, and the tests that hold."},
		{"redis", "Redis", "One server, sentinels or a cluster, and how to move between them."},
		{"replicas", "Replicas", "Read from replicas of Redis and PostgreSQL, and know how old a response is."},
		{"tracing", "Traces", "Follow an increment from its request to the frame, with OpenTelemetry."},
		{"tls", "TLS and passwords of the backends", "Authorities, client certificates and SASL."},
	}},
	{"Runbook", [][3]string{
		{"runbook", "Runbook", "Where to begin, and a page for each alert and situation."},
		{"lost-redis", "Redis is unavailable", "What users see, and how Redis comes back."},
		{"promote-redis", "Promote a Redis replica", "Replace the Redis that is lost by its replica."},
		{"lost-postgresql", "PostgreSQL is unavailable", "Failover, and what it can lose."},
		{"lost-kafka", "Kafka is unavailable", "Wait, or go on without it."},
		{"lost-relay", "The relay is down", "Changes are not published."},
		{"lost-gateway", "The gateway is down", "Streams are gone."},
		{"key-leak", "A key leaked", "Revoke it, and undo what it signed."},
		{"cheating-wave", "A cheating wave", "Find the pattern, stop it, clean up."},
		{"season-end", "A season ends", "What happens, and what to look at."},
		{"capacity", "Capacity", "What each part takes, and what to add."},
		{"backup", "Backup and restore", "To a point in time, and what is lost."},
		{"upgrade", "Upgrade", "Upgrade, go back, uninstall."},
		{"switch-transport", "Switch the transport", "Move between Kafka, Redis Streams and direct."},
	}},
	{alertsGroup, nil},
	{"Understand", [][3]string{
		{"architecture", "Architecture", "An increment, a read and a frame, step by step."},
		{"dependencies", "Dependencies", "What reaches the binaries, and what was considered instead."},
		{"performance", "Performance", "What was measured, with which command."},
		{"scale", "Scaling", "A caching proxy, sizing, multiple regions, and writes beyond one PostgreSQL."},
		{"torture", "Torture test", "How faults are injected, and what is checked."},
	}},
}

// build renders everything.
func build(source fs.FS, apis []API) (map[string]*file, error) {
	sources, err := find(source)
	if err != nil {
		return nil, err
	}
	pages := make(map[string]*page)
	for name, at := range sources {
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
	groups := arrange(pages, sources)
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

// find returns the Markdown files by the names of their pages.
func find(source fs.FS) (map[string]string, error) {
	sources := make(map[string]string)
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/runbook/*.md"} {
		found, err := fs.Glob(source, pattern)
		if err != nil {
			return nil, err
		}
		for _, at := range found {
			name := strings.ToLower(strings.TrimSuffix(path.Base(at), ".md"))
			if other, twice := sources[name]; twice {
				return nil, fmt.Errorf("%s has the name of another page, %s", at, other)
			}
			sources[name] = at
		}
	}
	return sources, nil
}

// arrange sorts the pages into groups and names them.
func arrange(pages map[string]*page, sources map[string]string) []group {
	var groups []group
	known := make(map[string]bool)
	for _, o := range order {
		g := group{Title: o.group}
		for _, entry := range o.pages {
			known[entry[0]] = true
			if p := pages[entry[0]]; p != nil {
				p.Title, p.About = entry[1], entry[2]
				g.Pages = append(g.Pages, p)
			}
		}
		groups = append(groups, g)
	}
	more := group{Title: "More"}
	alerts := slices.IndexFunc(groups, func(g group) bool { return g.Title == alertsGroup })
	for name, p := range pages {
		switch {
		case known[name]:
		case path.Dir(sources[name]) == "docs/runbook":
			groups[alerts].Pages = append(groups[alerts].Pages, p)
		default:
			more.Pages = append(more.Pages, p)
		}
	}
	slices.SortFunc(groups[alerts].Pages, func(a, b *page) int { return cmp.Compare(a.Name, b.Name) })
	groups = slices.DeleteFunc(groups, func(g group) bool { return g.Title == alertsGroup && g.Pages == nil })
	if slices.SortFunc(more.Pages, func(a, b *page) int { return cmp.Compare(a.Name, b.Name) }); more.Pages != nil {
		groups = append(groups, more)
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
