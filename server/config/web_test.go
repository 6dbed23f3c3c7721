package config

import (
	"slices"
	"strings"
	"testing"
)

func TestListedBoards(t *testing.T) {
	t.Parallel()
	w := &Web{Boards: []string{"daily"}, Origins: []string{"https://a.example", "daily=https://b.example:8443"}}
	if !w.Lists("daily") || !w.Lists("daily:2026-11-21") || w.Lists("global") || new(Web).Lists("global") {
		t.Error("only daily and its instances are listed, and nothing by default")
	}
	if all := (&Web{Boards: []string{AllBoards}}); !all.Lists("global") {
		t.Error("* lists all boards")
	}
	want := []string{"https://a.example", "https://b.example:8443"}
	if got := w.OriginsOf("daily:2026-11-21"); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := w.OriginsOf("global"); !slices.Equal(got, []string{"https://a.example"}) {
		t.Errorf("got %v", got)
	}
}

// An origin of any port is that of a local server, and of nobody with a similar name.
func TestEmbeddingOrigins(t *testing.T) {
	t.Parallel()
	w := &Web{Boards: []string{"global"}, Origins: []string{"https://a.example", "http://localhost:*"}}
	for origin, want := range map[string]bool{
		"https://a.example": true, "http://localhost:3000": true, "http://localhost": true,
		"http://localhost:80":    false,
		"https://localhost:3000": false, "http://localhost.evil.example": false, "http://localhost:*": false,
		"http://localhost:3000.evil.example": false, "http://localhost:1@evil.example": false,
		"http://127.0.0.1:3000": false, "null": false, "": false, "https://b.example": false,
	} {
		if got := w.Embeds("global", origin); got != want {
			t.Errorf("%q: got %v, want %v", origin, got, want)
		}
	}
	if w.Embeds("other", "https://a.example") {
		t.Error("a board without a page is embedded")
	}
}

func TestInvalidListedBoards(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"boards:daily:2026-11-21":               "web.boards",
		"boards:Daily":                          "web.boards",
		"origins:*":                             "web.origins",
		"origins:https://a.example/path":        "web.origins",
		"origins:https://a.example; script-src": "web.origins",
		"origins:https://A.example":             "web.origins",
		"origins:https://u:p@a.example":         "web.origins",
		"origins:null":                          "web.origins",
		"origins:ftp://a.example":               "web.origins",
		"origins:other=https://a.example":       "web.origins",
		"origins:global=":                       "web.origins",
		"url:https://a.example/path":            "web.public_url",
		"url:javascript:alert(1)":               "web.public_url",
		"url:https://u:p@a.example":             "web.public_url",
		"url:a.example":                         "web.public_url",
		"url:https://a.example\"><script>":      "web.public_url",
		"url:https://a.example:8443":            "",
		"origins:https://a.example":             "",
		"origins:global=http://localhost:3000":  "",
		"origins:http://localhost:*":            "",
		"origins:global=http://127.0.0.1:*":     "",
		"origins:https://localhost:*":           "web.origins",
		"origins:http://a.example:*":            "web.origins",
		"origins:http://localhost*":             "web.origins",
	} {
		w := Web{Boards: []string{"global"}}
		if kind, value, _ := strings.Cut(text, ":"); kind == "boards" {
			w.Boards = []string{value}
		} else if kind == "url" {
			w.URL = value
		} else {
			w.Origins = []string{value}
		}
		var p problems
		w.check(&p)
		got := ""
		if len(p.found) > 0 {
			got = p.found[0].Setting
		}
		if got != want {
			t.Errorf("%s: got a problem with %q, want %q", text, got, want)
		}
	}
}
