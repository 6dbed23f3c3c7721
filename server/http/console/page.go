package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/internal/english"
)

//go:embed pages
var pageFiles embed.FS

// pages are the parsed templates, by name.
type pages map[string]*template.Template

// view is what a page shows.
type view struct {
	Title        string
	Section      string // of the menu
	Crumbs       []link // pages above this one
	Session      *session
	Token        string // of forms
	Confirmation string // what a change has done
	Audit        string // the page of its audit entries
	Actions      []link // of the page
	Data         any
}

// link leads to a page.
type link struct {
	Label, Href, Tone string
	Operation         string // of the API, if it leads to a change
	Edit              bool   // it changes one of many settings: a menu has them together
}

// section is an entry of the menu. Guide is the page of the documentation about it.
type section struct{ Name, Label, Path, Scope, Guide, Icon string }

var sections = []section{
	{"overview", "Overview", Root, scopeOperate, "runbook", "M3 12h4l3-8 4 16 3-8h4"},
	{"boards", "Boards", Root + "/boards", "", "boards", "M4 20V10h4v10zM10 20V4h4v16zM16 20v-7h4v7z"},
	{
		"players", "Players", Root + "/players", "", "moderation",
		"M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-4 4-6 8-6s7 2 8 6",
	},
	{
		"integrity", "Integrity", Root + "/integrity", scopeOperate, "cheating-wave",
		"M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4",
	},
	{"jobs", "Jobs", Root + "/jobs", scopeOperate, "drift", "M12 3a9 9 0 1 0 9 9M12 7v5l3 3M17 3h4v4"},
	{
		"dead-letters", "Dead letters", Root + "/dead-letters", scopeOperate, "dead-letters",
		"M4 6h16v12H4zM4 7l8 6 8-6",
	},
	{"imports", "Imports", Root + "/imports", scopeOperate, "import", "M12 3v12M7 10l5 5 5-5M4 19h16"},
	{
		"keys", "Keys", Root + "/keys", scopeOperate, "signing",
		"M8 16a4 4 0 1 1 3.5-6H21v4h-3v3h-4v-3h-2.5A4 4 0 0 1 8 16z",
	},
	{
		"webhooks", "Webhooks", Root + "/webhooks", scopeOperate, "webhooks",
		"M4 12h9M10 8l4 4-4 4M15 5h5v14h-5",
	},
	{
		"settings", "Settings", Root + "/settings", scopeOperate, "settings",
		"M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
	},
	{"audit", "Audit", Root + "/audit", scopeOperate, "moderation", "M6 3h9l4 4v14H6zM9 11h7M9 15h7"},
}

// docsHref is the address of a page of the documentation, which the console's host serves, too.
func docsHref(page string) string { return "/docs/" + page }

// Guide is the address of the page of the documentation about what a page shows; "" for none.
func (v *view) Guide() string {
	for _, s := range sections {
		if s.Name == v.Section {
			return docsHref(s.Guide)
		}
	}
	return ""
}

// Edits are the actions that are together in a menu.
func (v *view) Edits() []link { return v.actions(true) }

// Buttons are the other actions.
func (v *view) Buttons() []link { return v.actions(false) }

func (v *view) actions(edits bool) (out []link) {
	for _, l := range v.Actions {
		if l.Edit == edits {
			out = append(out, l)
		}
	}
	return out
}

// parsePages parses the layout with each page.
func parsePages(files *design.Files) pages {
	base := template.Must(template.New("layout").Funcs(template.FuncMap{
		"asset": func(name string) string { return Root + "/assets/" + files.Name(name) },
		"num":   formatNumber, "when": timeOrNone, "root": func() string { return Root },
		"docs":     docsHref,
		"pick":     pickerOf,
		"sections": func() []section { return sections }, "query": url.QueryEscape, "roleOf": roleOf,
		"iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	}).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html"))
	out := make(pages)
	entries, err := pageFiles.ReadDir("pages")
	if err != nil { // they are embedded
		panic(err)
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		t := template.Must(base.Clone())
		out[name] = template.Must(t.ParseFS(pageFiles, "pages/"+e.Name()))
	}
	return out
}

// pickerOf names what the script of the page offers for an input: boards, players, or a time; "" for nothing.
func pickerOf(name string) string {
	switch name {
	case "board", "family":
		return "board"
	case "user", "user_id":
		return "player"
	case "from", "to", "starts", "ends":
		return "time"
	}
	return ""
}

// roleOf says what a session may do.
func roleOf(s *session) string {
	switch {
	case s.May(scopeAdmin):
		return "Administrator"
	case s.May(scopeOperate):
		return "Operator"
	}
	return "Viewer"
}

// formatNumber groups the digits of an integer.
func formatNumber(v any) string {
	text := fmt.Sprint(v)
	if p, ok := v.(*int64); ok {
		if p == nil {
			return "–"
		}
		text = strconv.FormatInt(*p, 10)
	}
	return strings.Replace(english.Grouped(text), "-", "−", 1)
}

// formatTime shows a time in UTC. The script of the page shows it in the zone that a person chose.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// renderer renders pages.
type renderer struct {
	pages    pages
	sessions *sessions
	log      *slog.Logger
}

// render answers with a page. It is rendered as a whole first, so that an error does not
// leave half a page.
func (c *renderer) render(w http.ResponseWriter, r *http.Request, status int, page string, v *view) {
	if v.Session != nil {
		v.Token = c.sessions.formToken(v.Session)
	}
	var b bytes.Buffer
	if err := c.pages[page].ExecuteTemplate(&b, "layout", v); err != nil {
		c.log.Error("page not rendered", "page", page, "request_id", r.Header.Get("X-Request-Id"), "err", err)
		http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b.Bytes()) // fails only for a client that has gone
	}
}

// show answers with a page of a person who is signed in, and with what a change before it
// has done.
func (c *renderer) show(w http.ResponseWriter, r *http.Request, s *session, page string, v *view) error {
	v.Session = s
	if ch := changes[r.URL.Query().Get("done")]; ch != nil {
		v.Confirmation = ch.done
		v.Audit = Root + "/audit?" + url.Values{"action": {ch.action}}.Encode()
	}
	c.render(w, r, http.StatusOK, page, v)
	return nil
}

// fail answers with an error, outside of a session.
func (c *renderer) fail(w http.ResponseWriter, r *http.Request, f *failure) {
	c.render(w, r, f.Status, "error", &view{Title: http.StatusText(f.Status), Data: f})
}

// failSignedIn answers with an error. Who is not accepted any more signs in again.
func (c *renderer) failSignedIn(w http.ResponseWriter, r *http.Request, s *session, err error) {
	f := failureOf(err)
	if f.Code == "internal" && !errors.As(err, new(*failure)) {
		c.log.Error("console page failed", "path", r.URL.Path, "request_id", r.Header.Get("X-Request-Id"), "err", err)
	}
	if f.Status == http.StatusUnauthorized {
		c.sessions.setCookie(w, r, sessionCookie, "", 0, http.SameSiteStrictMode)
		askToSignIn(w, r)
		return
	}
	if f.RequestID == "" {
		f.RequestID = r.Header.Get("X-Request-Id")
	}
	c.render(w, r, f.Status, "error", &view{Title: "This did not work", Session: s, Data: f})
}
