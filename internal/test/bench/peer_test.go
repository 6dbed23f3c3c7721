package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// peers are Nakama and Podium as their documentation describes the routes of an increment.
type peers struct {
	mu     sync.Mutex
	scores map[string]int64
	total  int64
}

func (p *peers) add(w http.ResponseWriter, user string, by int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scores[user] += by
	p.total += by
	fmt.Fprintf(w, `{"score":%d}`, p.scores[user])
}

func (p *peers) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/account/authenticate/custom", func(w http.ResponseWriter, r *http.Request) {
		var account struct {
			ID string `json:"id"`
		}
		key, _, _ := r.BasicAuth()
		if err := json.NewDecoder(r.Body).Decode(&account); err != nil || key != "defaultkey" {
			http.Error(w, "Server key invalid", http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"token":"of-%s"}`, account.ID)
	})
	mux.HandleFunc("POST /v2/leaderboard/bench", func(w http.ResponseWriter, r *http.Request) {
		var write struct {
			Score int64 `json:"score,string"`
		}
		user, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer of-")
		if err := json.NewDecoder(r.Body).Decode(&write); err != nil || !ok {
			http.Error(w, "Auth token invalid", http.StatusUnauthorized)
			return
		}
		p.add(w, user, write.Score)
	})
	mux.HandleFunc("PATCH /l/bench/members/{user}/score", func(w http.ResponseWriter, r *http.Request) {
		var change struct {
			Increment int64 `json:"increment"`
		}
		if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
			http.Error(w, "bad body", http.StatusBadRequest)
			return
		}
		p.add(w, r.PathValue("user"), change.Increment)
	})
	return mux
}

func TestPeerSendsIncrements(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"nakama", "podium"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := &peers{scores: make(map[string]int64)}
			server := httptest.NewServer(p.handler())
			t.Cleanup(server.Close)
			out := runPeer(t, "", "--kind", kind, "--url", server.URL)
			p.mu.Lock()
			defer p.mu.Unlock()
			if lines := strings.Count(out, "\n| "); lines != 3 || strings.Contains(out, "NaN") {
				t.Errorf("%d lines:\n%s", lines, out)
			}
			if len(p.scores) != 20 || p.total < 100 {
				t.Errorf("%d points of %d users", p.total, len(p.scores))
			}
		})
	}
}

func TestPeerTellsWhatTheServerSays(t *testing.T) {
	t.Parallel()
	p := &peers{scores: make(map[string]int64)}
	server := httptest.NewServer(p.handler())
	t.Cleanup(server.Close)
	runPeer(t, "401 Unauthorized: Server key invalid", "--kind", "nakama", "--url", server.URL, "--server-key", "x")
	runPeer(t, "404 Not Found", "--kind", "podium", "--url", server.URL, "--board", "other")
	runPeer(t, "want nakama or podium", "--kind", "redis", "--url", server.URL)
	if p.total != 0 {
		t.Errorf("%d points counted", p.total)
	}
}

// runPeer returns the output, or checks that the error contains a text.
func runPeer(t *testing.T, fails string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := (&program{options: Options{Out: &out, Err: &out}}).root()
	root.SetArgs(append([]string{"peer", "--quick"}, args...))
	err := root.ExecuteContext(t.Context())
	switch {
	case fails == "" && err != nil:
		t.Fatal(err)
	case fails != "" && (err == nil || !strings.Contains(err.Error(), fails)):
		t.Errorf("got %v, want an error with %q", err, fails)
	}
	return out.String()
}
