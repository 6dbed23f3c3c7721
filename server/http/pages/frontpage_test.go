package pages

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
)

var shown = wire.FrontPage{
	Name: "scoreboard", Description: "A leaderboard & more.", Version: "v1.2.3",
	Links: []wire.Link{{Path: "/docs", Description: "The <reference>."}},
}

func TestPageByAccept(t *testing.T) {
	t.Parallel()
	p := NewFrontPage(shown)
	for accept, html := range map[string]bool{
		"":    false,
		"*/*": false,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true,
		"application/json":                        false,
		"application/json, text/html;q=0.9":       false,
		"text/html;q=0.9, application/json;q=0.5": true,
		"text/html;q=0":                           false,
		"TEXT/HTML":                               true,
		"text/html;q=abc":                         false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		body, kind := w.Body.String(), w.Header().Get("Content-Type")
		if w.Code != http.StatusOK || w.Header().Get("Vary") != "Accept" {
			t.Errorf("%q: got %d, %v", accept, w.Code, w.Header())
		}
		if html {
			if !strings.HasPrefix(kind, "text/html") || !strings.Contains(body, `<a href="docs">/docs</a>`) ||
				!strings.Contains(body, "leaderboard &amp; more") || !strings.Contains(body, "&lt;reference&gt;") ||
				!strings.Contains(body, "v1.2.3") {
				t.Errorf("%q: got %s, %s, want the page", accept, kind, body)
			}
			continue
		}
		var got wire.FrontPage
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || kind != "application/json" ||
			got.Name != shown.Name || len(got.Links) != 1 || got.Links[0] != shown.Links[0] {
			t.Errorf("%q: got %s, %s, %v, want JSON", accept, kind, body, err)
		}
	}
}
