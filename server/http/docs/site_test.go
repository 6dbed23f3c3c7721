package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	repository "github.com/scoreboard/scoreboard"
)

// whole is the site as the daemon serves it.
var whole = sync.OnceValue(func() *Site {
	apis := []API{api("", "/openapi.json", "../api/openapi.json")}
	for _, dialect := range dialects {
		apis = append(apis, api(dialect, "/openapi/"+dialect+".json", "../dialect/openapi/"+dialect+".json"))
	}
	return New(repository.Docs, apis...)
})

var dialects = []string{"highscore", "delta", "module", "plain"}

func api(dialect, path, file string) API {
	document, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return API{dialect, path, document}
}

func get(t *testing.T, s *Site, name string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	known, err := s.Serve(w, r, name)
	if err != nil {
		t.Fatal(err)
	}
	if !known {
		w.Code = http.StatusNotFound
	}
	return w
}

// htmlPages are the pages of the site by their names, with the index.
func htmlPages(t *testing.T, s *Site) map[string]string {
	t.Helper()
	files, err := s.build()
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]string)
	for name, f := range files {
		if strings.HasPrefix(f.kind, "text/html") {
			pages[name] = string(f.body)
		}
	}
	return pages
}

// Every page of the repository is served, is in the index and is in the order of pages.
func TestEveryPageIsServed(t *testing.T) {
	t.Parallel()
	index := get(t, whole(), Index, nil).Body.String()
	names := []string{"readme", Reference}
	for _, dialect := range dialects {
		names = append(names, Reference+"-"+dialect)
	}
	for _, pattern := range []string{"../../../docs/*.md", "../../../docs/runbook/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		for _, at := range found {
			if name := strings.TrimSuffix(filepath.Base(at), ".md"); name != "README" {
				names = append(names, name)
			}
		}
	}
	names = append(names, "decisions")
	for _, name := range names {
		w := get(t, whole(), name, nil)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<h1") ||
			w.Header().Get("Content-Security-Policy") != Policy {
			t.Errorf("%s: got %d, %v", name, w.Code, w.Header())
		}
		if !strings.Contains(index, `<a href="docs/`+name+`">`) {
			t.Errorf("the index has no link to %s", name)
		}
	}
	if strings.Contains(index, ">More</h2>") {
		t.Error("the index has pages without a group: add them to docs/README.md")
	}
	for _, name := range []string{"0001-lock-users-by-an-upsert", "nowhere", "docs.go", "../README.md", "security.md"} {
		if w := get(t, whole(), name, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: got %d, want it not to be found", name, w.Code)
		}
	}
}

// The list of pages calls each page by its title, and so does the site.
func TestTitlesAreThoseOfTheList(t *testing.T) {
	t.Parallel()
	tree, err := os.ReadFile("../../../" + treePath)
	if err != nil {
		t.Fatal(err)
	}
	files, err := find(repository.Docs)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string)
	for name, at := range files {
		names[at] = name
	}
	pages, entries := htmlPages(t, whole()), 0
	heading := regexp.MustCompile(`(?s)<h1[^>]*>(.*?)(?:<a [^>]*>.*?</a>)?</h1>`)
	tags := regexp.MustCompile(`<[^>]*>`)
	for line := range strings.Lines(string(tree)) {
		found := entry.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			if strings.HasPrefix(line, "- ") {
				t.Errorf("not an entry: %s", line)
			}
			continue
		}
		entries++
		at := path.Join("docs", found[2])
		name := cmp.Or(names[at], referenceName(at))
		h1 := heading.FindStringSubmatch(pages[name])
		if h1 == nil {
			t.Errorf("%s has no title", found[2])
		} else if title := html.UnescapeString(tags.ReplaceAllString(h1[1], "")); title != found[1] {
			t.Errorf("the list calls %s %q, its title is %q", found[2], found[1], title)
		}
	}
	if entries < 50 {
		t.Errorf("got %d entries, want at least 50", entries)
	}
}

// The index of the decisions has each, with its title.
func TestDecisionsAreListed(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("../../../docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("../../../docs/decisions/0*.md")
	if err != nil || len(found) < 50 {
		t.Fatal(len(found), err)
	}
	for _, at := range found {
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		_, title, _ := strings.Cut(strings.TrimPrefix(first, "# "), " ")
		number, _, _ := strings.Cut(filepath.Base(at), "-")
		want := fmt.Sprintf("| %s | [%s](%s) | ", strings.TrimLeft(number, "0"), title, filepath.Base(at))
		if !strings.Contains(string(index), want) {
			t.Errorf("docs/decisions/README.md lacks %s", want)
		}
	}
}

// A page is answered with an ETag, and 304 to a client that has it.
func TestPagesHaveETags(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, name := range []string{Index, "security", Reference, "style.css", "search.js", "search.json", "demo.svg"} {
		w := get(t, whole(), name, nil)
		tag := w.Header().Get("Etag")
		if w.Code != http.StatusOK || tag == "" || seen[tag] != "" ||
			w.Header().Get("Cache-Control") != "max-age=300" {
			t.Errorf("%q: got %d, the tag %s (also of %s), %v", name, w.Code, tag, seen[tag], w.Header())
		}
		seen[tag] = "“" + name + "”"
		again := get(t, whole(), name, http.Header{"If-None-Match": {tag}})
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%q again: got %d with %d bytes, want 304", name, again.Code, again.Body.Len())
		}
		if other := get(t, whole(), name, http.Header{"If-None-Match": {`"x"`}}); other.Code != http.StatusOK {
			t.Errorf("%q with another tag: got %d, want 200", name, other.Code)
		}
	}
}

var (
	reference = regexp.MustCompile(`<(\w+)[^>]*? (?:href|src)="([^"]*)"`)
	anchor    = regexp.MustCompile(` id="([^"]*)"`)
)

// Every link leads to a page, a section or a file of the site, and nothing is loaded
// from other hosts. Inline styles and scripts would be blocked by the policy.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := htmlPages(t, whole())
	files, _ := whole().build()
	ids := make(map[string]bool)
	for name, text := range pages {
		for _, id := range anchor.FindAllStringSubmatch(text, -1) {
			if ids[name+"#"+id[1]] {
				t.Errorf("%s has the id %s twice", name, id[1])
			}
			ids[name+"#"+id[1]] = true
		}
	}
	links := 0
	for name, text := range pages {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			element, to := found[1], found[2]
			links++
			if strings.Contains(to, "://") {
				if element != "a" {
					t.Errorf("%q loads %s", name, to)
				}
				continue
			}
			file, fragment, _ := strings.Cut(to, "#")
			target := file
			switch {
			case to == "../openapi.json", strings.HasPrefix(to, "../openapi/"):
				continue
			case name == Index && file != "" && file != "docs":
				target = strings.TrimPrefix(file, "docs/")
			case file == "../docs", file == "docs":
				target = Index
			case file == "":
				target = name
			}
			if files[target] == nil {
				t.Errorf("%q links to %s, which does not exist", name, to)
			}
			if fragment != "" && !ids[target+"#"+fragment] {
				t.Errorf("%q links to %s, which has no such section", name, to)
			}
		}
		for _, blocked := range []string{" style=", "<style", "<script>", "onclick=", "ZgotmplZ"} {
			if strings.Contains(text, blocked) {
				t.Errorf("%q contains %q", name, blocked)
			}
		}
	}
	if links < 400 {
		t.Errorf("got %d links, want at least 400", links)
	}
}

// The search index has every section, and each leads to a section that exists.
func TestSearchIndex(t *testing.T) {
	t.Parallel()
	var index []section
	if err := json.Unmarshal(get(t, whole(), "search.json", nil).Body.Bytes(), &index); err != nil {
		t.Fatal(err)
	}
	pages := htmlPages(t, whole())
	seen := make(map[string]bool)
	for _, s := range index {
		seen[s.Page] = true
		if s.Title == "" || s.ID != "" && !strings.Contains(pages[s.Page], ` id="`+s.ID+`"`) {
			t.Errorf("%s#%s (%s) does not exist", s.Page, s.ID, s.Heading)
		}
	}
	for name := range pages {
		if !seen[name] && name != Index {
			t.Errorf("%s is not in the search index", name)
		}
	}
	for heading, text := range map[string]string{
		"Two roles": "runtime role", "POST /v1/scores/increment": "Submit an increment", "Receipt": "new_score",
	} {
		if !slices.ContainsFunc(index, func(s section) bool {
			return s.Heading == heading && strings.Contains(s.Text, text)
		}) {
			t.Errorf("the index has no section %q with %q", heading, text)
		}
	}
}

// The reference shows each operation with its example, and each type.
func TestReferenceHasExamples(t *testing.T) {
	t.Parallel()
	for page, wants := range map[string][]string{
		Reference: {
			"POST /v1/scores/increment HTTP/1.1\nAuthorization: Bearer &lt;token&gt;", "HTTP/1.1 200 OK",
			"&#34;processed_event_id&#34;: &#34;match-8841&#34;", "event_conflict", "0 to 500 items",
			"id: 7:4211\nevent: leaderboard.updated\ndata: {", "data are JSON of <a href=\"#Message\">",
			"GET / HTTP/1.1\n\nHTTP/1.1 200 OK", `<h3 id="Receipt">`,
			"POST /v1/boards HTTP/1.1\nAuthorization: Bearer", "GET /b/global/top HTTP/1.1\n\n",
			"<p>Token: one with the scope score:update, or one with the scope score:operate</p>",
			"<p>Token: none, or any</p>",
		},
		Reference + "-highscore": {
			"<h1>API reference: highscore</h1>", "Mounted at <code>/</code>", `<h3 id="Failure">`,
			"POST /v1/scores/update HTTP/1.1", `href="../openapi/highscore.json"`, "&#34;success&#34;: true",
		},
		Reference + "-plain": {
			"GET /leaderboard/stream HTTP/1.1",
			"text/event-stream\n\nid: 1795404827525177:12\nevent: leaderboard\ndata: [{&#34;",
			`<h3 id="PlainStanding">`,
		},
	} {
		text := get(t, whole(), page, nil).Body.String()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", page, want)
			}
		}
		if has := strings.Contains(text, `id="errors"`); has != (page == Reference) {
			t.Errorf("%s: its own section of errors: %v", page, has)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	source := fstest.MapFS{
		"README.md": {Data: []byte("# Top\n\n[Rules](docs/rules.md#a-b) and [code](server/doc.go).\n\n" +
			"![A *screen*](docs/screens/watch.svg)\n")},
		"docs/rules.md": {Data: []byte("# Rules\n\n[Home](../README.md), [steps](runbook/steps.md), " +
			"[why](decisions/1.md), [out](https://example.com/x).\n\n## `a.b_c` & more\n\n" +
			"## A b\n\n| n |\n|--:|\n| 1 |\n\n## A b\n\n" +
			"<script>alert(1)</script>\n\n<b>bold</b>\n\n## D\n\ntext\n")},
		"docs/runbook/steps.md": {Data: []byte("# Steps\n\n[Rules](../rules.md)\n")},
		"docs/README.md":        {Data: []byte("# All\n\n## First\n\n- [Top](../README.md): What it is.\n")},
	}
	pages := htmlPages(t, New(source, API{Document: []byte(`{}`)}))
	for name, wants := range map[string][]string{
		"readme": {
			`<a href="rules#a-b">Rules</a> and code.`, `<img loading="lazy" src="watch.svg" alt="A screen">`,
			`aria-current="page">Top</a>`,
		},
		"rules": {
			`<a href="readme">Home</a>, <a href="steps">steps</a>, why, <a href="https://example.com/x">out</a>.`,
			`<h2 id="ab_c--more">`, `<h2 id="a-b">`, `<h2 id="a-b-1">`, `<td align="right">1</td>`,
			`<div class="wide"><table>`, `<li><a href="#a-b-1">A b</a></li>`, `<title>Rules: scoreboard</title>`,
		},
		"steps": {`<a href="rules">Rules</a>`},
	} {
		for _, want := range wants {
			if !strings.Contains(pages[name], want) {
				t.Errorf("%s lacks %s:\n%s", name, want, pages[name])
			}
		}
	}
	if strings.Contains(pages["rules"], "alert(1)</script>") || strings.Contains(pages["rules"], "<b>bold") {
		t.Errorf("HTML of the source is in the page:\n%s", pages["rules"])
	}
	if !strings.Contains(pages[Index], `<h2>First</h2>`) || !strings.Contains(pages[Index], `<dd>What it is.</dd>`) {
		t.Errorf("the index lacks the group of the list of pages:\n%s", pages[Index])
	}
	twice := fstest.MapFS{"docs/a.md": {Data: []byte("# A")}, "docs/runbook/a.md": {Data: []byte("# A")}}
	if _, err := New(twice, API{Document: []byte(`{}`)}).Serve(httptest.NewRecorder(), nil, "a"); err == nil {
		t.Error("two pages of one name: got no error")
	}
}
