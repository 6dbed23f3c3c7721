package main

import (
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

//go:embed page
var page embed.FS

// maxPlayers limits the sessions that are kept in memory.
const maxPlayers = 10_000

// Nobody hits faster than this for long.
const (
	hitsPerSecond = 5
	hitsAtOnce    = 20
)

// game is the backend of the page.
type game struct {
	scores *client.Client
	server string // address of scoreboard, for the page

	mu      sync.Mutex
	players map[string]*player // by session
}

type player struct {
	id   string
	hits *rate.Limiter
}

func newGame(scores *client.Client, server, sdk string) http.Handler {
	g := &game{scores: scores, server: server, players: map[string]*player{}}
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.Handle("GET /sdk/", http.StripPrefix("/sdk/", http.FileServer(http.Dir(sdk))))
	mux.HandleFunc("POST /session", g.session)
	mux.HandleFunc("GET /token", g.token)
	mux.HandleFunc("POST /hits", g.hit)
	return mux
}

// session names the player to the page. A real game would sign its players in here.
func (g *game) session(w http.ResponseWriter, r *http.Request) {
	p := g.player(r)
	if p == nil {
		if p = g.join(w); p == nil {
			fail(w, http.StatusServiceUnavailable, wire.CodeOverloaded, "too many players")
			return
		}
	}
	reply(w, map[string]string{"player": p.id, "server": g.server})
}

// join adds a player, nil if there are too many, and sets the cookie of the session.
func (g *game) join(w http.ResponseWriter) *player {
	session := rand.Text()
	p := &player{
		id:   "player-" + strings.ToLower(rand.Text()[:6]),
		hits: rate.NewLimiter(hitsPerSecond, hitsAtOnce),
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.players) >= maxPlayers {
		return nil
	}
	g.players[session] = p
	// SameSite keeps pages of others from playing for their visitors. A game on the internet sets
	// Secure as well.
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // over plain HTTP, on this machine
		Name: "session", Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: 24 * 60 * 60,
	})
	return p
}

// player returns the player of a request's session, nil if it has none.
func (g *game) player(r *http.Request) *player {
	cookie, err := r.Cookie("session")
	if err != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.players[cookie.Value]
}

// token lets the page read and watch as its player. It cannot be used to submit, because a
// submit requires a signature. In production the game's identity provider issues it.
func (g *game) token(w http.ResponseWriter, r *http.Request) {
	p := g.player(r)
	if p == nil {
		fail(w, http.StatusUnauthorized, wire.CodeUnauthorized, "no session")
		return
	}
	t, err := g.scores.MintToken(r.Context(), client.TokenRequest{UserID: p.id, TTL: "10m"})
	if err != nil {
		failWith(w, err)
		return
	}
	reply(w, map[string]any{"token": t.Token, "expiresAt": t.ExpiresAt})
}

// hit counts a hit. The page chooses nothing but the event id: not the user, not the points.
func (g *game) hit(w http.ResponseWriter, r *http.Request) {
	p := g.player(r)
	if p == nil {
		fail(w, http.StatusUnauthorized, wire.CodeUnauthorized, "no session")
		return
	}
	var body struct {
		EventID string `json:"event_id"`
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" || json.NewDecoder(http.MaxBytesReader(w, r.Body, 1024)).Decode(&body) != nil ||
		body.EventID == "" {
		fail(w, http.StatusBadRequest, wire.CodeInvalidRequest, "the body must be {\"event_id\": …}")
		return
	}
	if !p.hits.Allow() {
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusTooManyRequests, wire.CodeRateLimited, "too many hits")
		return
	}
	receipt, err := g.scores.Submit(r.Context(), client.Increment{User: p.id, Delta: 1, EventID: body.EventID})
	if err != nil {
		failWith(w, err)
		return
	}
	reply(w, receipt)
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, code wire.Code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error_code": code, "message": message})
}

// failWith passes on an error of the API, so that the page knows whether to try again.
func failWith(w http.ResponseWriter, err error) {
	var e *client.Error
	if !errors.As(err, &e) || e.Status == 0 {
		fail(w, http.StatusBadGateway, wire.CodeUnavailable, "the scores cannot be reached")
		return
	}
	switch e.Code {
	case wire.CodeUnauthorized, wire.CodeInvalidSignature, wire.CodeForbidden:
		// The credentials are the game's; its players cannot correct them.
		fail(w, http.StatusServiceUnavailable, wire.CodeUnavailable, "the game cannot submit scores")
		return
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	fail(w, e.Status, e.Code, e.Message)
}
