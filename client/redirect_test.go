package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/scoreboard/scoreboard/client"
)

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
