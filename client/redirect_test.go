package client_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/scoreboard/scoreboard/client"
)

// What sends requests for operators and players uses NewHTTP, which follows no redirects.
func TestEveryClientStaysAtItsServer(t *testing.T) {
	t.Parallel()
	others := regexp.MustCompile(`http\.(Client\{|DefaultClient|Get\(|Head\(|Post\(|PostForm\()`)
	var files, found int
	for _, dir := range []string{".", "bulk", "../cmd/sbctl", "../loadgen", "../tui"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files++
			for _, use := range others.FindAll(text, -1) {
				if found++; name != "client.go" {
					t.Errorf("%s uses %s, which follows redirects; use client.NewHTTP", name, use)
				}
			}
		}
	}
	if files < 100 || found != 1 {
		t.Errorf("%d clients in %d files, want the one of NewHTTP", found, files)
	}
}

// A success without a receipt is none.
func TestEmptyResponseIsNoReceipt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{Token: "t", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	in := client.Increment{User: "alice", Delta: 5, EventID: "e"}
	if _, err := c.Submit(t.Context(), in); err == nil {
		t.Error("one board: a receipt")
	}
	if _, err := c.SubmitBoards(t.Context(), in, []string{"a", "b"}); err == nil {
		t.Error("two boards: receipts")
	}
}

// A redirect is not followed: not even another port of the same host gets the token.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{Token: "secret-token", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Top(t.Context(), client.TopQuery{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a redirect: got %v, want an error", err)
	}
	if asked.Load() != 0 {
		t.Error("the other server was asked")
	}
}
