package console

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/internal/share"
)

// Root is the path of the console. All its pages are below it.
const Root = "/console"

// Options are what the console needs.
type Options struct {
	// API answers every read and change.
	API http.Handler
	// Operations are the API's routes for operators and administrators that this node serves.
	Operations []Operation
	// Keys encrypt sessions: each has 32 bytes, and all nodes have the same. The first encrypts, and
	// what any of them has encrypted is valid.
	Keys [][]byte
	// Verify returns the claims of a token that the API has accepted.
	Verify func(ctx context.Context, token string) (Claims, error)
	// URL is the address at which browsers reach the console's host, such as
	// https://ops.example.com; "" for any address over TLS and loopback addresses without.
	URL string
	// OIDC is the identity provider; its zero value for none.
	OIDC OIDC
	// Limit returns how long a client must wait until it may have the identity provider asked; nil
	// for no limit.
	Limit func(*http.Request) time.Duration
	// Mint issues a token for the sign-in by one click of development; nil for none.
	Mint func() (string, error)
	Log  *slog.Logger
	Now  func() time.Time
}

// Console is the handler of Root and all paths below it.
type Console struct {
	sessions   *sessions
	screen     *renderer
	signIns    *signIns
	views      *views
	forms      *changeForms
	forged     *http.CrossOriginProtection
	mux        *http.ServeMux
	background *background
}

//go:embed assets
var embedded embed.FS

// New makes the console, or returns what is wrong with the options.
func New(o Options) (*Console, error) {
	ciphers, err := newCiphers(o.Keys)
	if err != nil {
		return nil, err
	}
	if o.Limit == nil {
		o.Limit = func(*http.Request) time.Duration { return 0 }
	}
	origin, err := originOf(&o)
	if err != nil {
		return nil, err
	}
	served := newOperations(o.Operations)
	in := &sessions{keys: o.Keys, ciphers: ciphers, origin: origin, operations: served, now: o.Now}
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	api := &caller{api: o.API, operations: served, log: o.Log, now: o.Now}
	imports := &importRuns{turns: share.New(maxRunningRuns)}
	screen := &renderer{pages: parsePages(files), sessions: in, log: o.Log}
	c := &Console{
		sessions: in, screen: screen, forged: http.NewCrossOriginProtection(), mux: http.NewServeMux(),
		background: newBackground(),
		signIns: &signIns{
			sessions: in, screen: screen, caller: api, oidc: o.OIDC,
			issuer: issuer{of: o.OIDC, origin: origin, now: o.Now},
			limit:  o.Limit, mint: o.Mint, verify: o.Verify, log: o.Log, now: o.Now,
		},
		views: &views{screen: screen, caller: api, imports: imports, now: o.Now},
	}
	c.forms = &changeForms{screen: screen, caller: api, background: c.background, imports: imports}
	c.route(files)
	return c, nil
}

// originOf returns the origin of the console's URL, nil without one.
func originOf(o *Options) (*url.URL, error) {
	if o.URL == "" && o.OIDC.Issuer != "" {
		return nil, errors.New("sign-in by OIDC requires the console's URL, for its redirect URI")
	}
	if o.URL == "" {
		return nil, nil //nolint:nilnil // any address
	}
	return url.Parse(o.URL)
}

// contentPolicy allows the console's own files, and no inline script or style. Scripts
// cannot turn text into HTML.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// Bounds of the body of a form, in bytes.
const (
	maxForm   = 64 << 10
	maxUpload = 4 << 20 // of a file
)

// bodyLimit is the bound of a request's body.
func bodyLimit(r *http.Request) int64 {
	if ch := changes[strings.TrimPrefix(r.URL.Path, Root+"/changes/")]; ch != nil && ch.file() != "" {
		return maxUpload + maxForm
	}
	return maxForm
}

// parseForm reads a form, also one with a file, whose content becomes the value of its field.
func parseForm(r *http.Request) error {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		return r.ParseForm()
	}
	//nolint:gosec // in memory: MaxBytesReader bounds it
	if err := r.ParseMultipartForm(maxUpload + maxForm); err != nil {
		return err
	}
	for name, files := range r.MultipartForm.File {
		f, err := files[0].Open()
		if err != nil {
			return err
		}
		content, err := io.ReadAll(f)
		_ = f.Close() // it is in memory
		if err != nil {
			return err
		}
		if files[0].Filename != "" {
			r.PostForm.Set(name, string(content))
			r.PostForm.Set(name+fileNameSuffix, files[0].Filename)
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if c.sessions.secure(r) {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	r.Header.Set("X-Request-Id", hex.EncodeToString(id))
	h.Set("X-Request-Id", r.Header.Get("X-Request-Id"))
	if problem := c.sessions.checkHost(r); problem != nil {
		c.screen.fail(w, r, problem)
		return
	}
	if err := c.forged.Check(r); err != nil {
		c.screen.fail(w, r, &failure{
			Status: http.StatusForbidden, Code: "forbidden",
			Message: "The request comes from a page of another site.", Next: "Open the console and try again.",
		})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
	c.mux.ServeHTTP(w, r)
}

// route fills the mux.
func (c *Console) route(files *design.Files) {
	c.mux.HandleFunc("GET "+Root+"/assets/{file}", func(w http.ResponseWriter, r *http.Request) {
		if !files.Serve(w, r, r.PathValue("file")) {
			http.NotFound(w, r)
		}
	})
	c.mux.HandleFunc("GET "+Root+"/sign-in", c.signIns.signInPage)
	c.mux.HandleFunc("POST "+Root+"/sign-in", c.signIns.signIn)
	c.mux.HandleFunc("GET "+Root+"/sign-in/oidc", c.signIns.startOIDC)
	c.mux.HandleFunc("GET "+Root+"/sign-in/callback", c.signIns.finishOIDC)
	c.mux.HandleFunc("POST "+Root+"/sign-out", c.signedIn(c.signIns.signOut))
	pages := map[string]handler{
		"":                        c.views.overview,
		"/overview/data":          c.views.overviewData,
		"/find":                   c.views.find,
		"/boards":                 c.views.boards,
		"/boards/{board}":         c.views.board,
		"/boards/{board}/players": c.views.boardPlayers,
		"/boards/{board}/rewards": c.views.boardRewards,
		"/boards/{board}/league":  c.views.league,

		"/boards/{board}/league/cohorts/{cohort}": c.views.cohort,

		"/players":                       c.views.players,
		"/players/{user}":                c.views.player,
		"/players/{user}/events/{event}": c.views.event,
		"/players/{user}/export":         c.views.exportPlayer,
		"/audit":                         c.views.audit,
		"/audit/{id}":                    c.views.auditEntry,
		"/dead-letters":                  c.views.deadLetters,
		"/dead-letters/{id}":             c.views.deadLetter,
		"/integrity":                     c.views.integrity,
		"/integrity/flags/{id}":          c.views.flag,
		"/integrity/voids/{id}":          c.views.void,
		"/jobs":                          c.views.jobs,
		"/jobs/{id}":                     c.views.job,
		"/imports":                       c.views.importsPage,
		"/imports/{id}":                  c.views.importPage,
		"/keys":                          c.views.keys,
		"/settings":                      c.views.settings,
		"/webhooks":                      c.views.webhooks,
		"/webhooks/{webhook}":            c.views.webhook,
		"/changes/{change}":              c.forms.changeForm,
	}
	for path, h := range pages {
		c.mux.HandleFunc("GET "+Root+path, c.signedIn(h))
	}
	c.mux.HandleFunc("GET "+Root+"/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, Root, http.StatusMovedPermanently)
	})
	c.mux.HandleFunc("POST "+Root+"/changes/{change}", c.signedIn(c.forms.applyChange))
	c.mux.HandleFunc(Root+"/", c.signedIn(func(http.ResponseWriter, *http.Request, *session) error {
		return &failure{
			Status: http.StatusNotFound, Code: "not_found", Message: "The console has no such page.",
			Next: "Choose a page from the menu.",
		}
	}))
}

// handler answers a request of a person who is signed in, or returns why it cannot: an
// error of the API, or another one.
type handler func(w http.ResponseWriter, r *http.Request, s *session) error

// signedIn is the handler of a page that needs a session. A form that changes something
// also needs the session's token against forged requests.
func (c *Console) signedIn(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := c.sessions.session(r)
		if s == nil {
			if r.Header.Get("Accept") == "application/json" {
				http.Error(w, "signed out", http.StatusUnauthorized)
				return
			}
			askToSignIn(w, r)
			return
		}
		if r.Method == http.MethodPost {
			if err := parseForm(r); err != nil {
				f := &failure{
					Status: http.StatusBadRequest, Code: "invalid_request", Message: "The form could not be read.",
					Next: "Go back and submit it again.",
				}
				if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
					f.Status, f.Code = http.StatusRequestEntityTooLarge, "payload_too_large"
					f.Message = "The form is too large."
					f.Next = "A form can have 64 KiB, and a file 4 MiB. Use sbctl for larger files."
				}
				c.screen.fail(w, r, f)
				return
			}
			if !c.sessions.matchesFormToken(s, r.PostForm.Get(formTokenField)) {
				c.screen.fail(w, r, &failure{
					Status: http.StatusForbidden, Code: "forbidden", Message: "The form is not from this session.",
					Next: "Go back, reload the page and submit the form again.",
				})
				return
			}
		}
		if err := h(w, r, s); err != nil {
			c.screen.failSignedIn(w, r, s, err)
		}
	}
}

func loadAssets() (*design.Files, error) {
	files := design.NewFiles()
	entries, err := fs.ReadDir(embedded, "assets")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		body, err := embedded.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, err
		}
		files.Add(e.Name(), body)
	}
	files.Add("tokens.css", []byte(design.CSS()))
	return files, nil
}
