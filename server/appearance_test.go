package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The appearance of a board is that of all its periods, also of those that begin later. A change sets the
// fields that it has; what is invalid changes nothing and leaves no entry in the audit trail.
func TestAppearanceOfBoards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "web-origins", "https://game.example")
	root := n.client("root", auth.ScopeAdmin)
	made, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: new(time.Now().Add(time.Hour)),
		Title: "The Cup", Color: "#FFEE00",
	})
	if err != nil || made.Title != "The Cup" || made.Color != "#ffee00" || made.Description != "" {
		t.Fatalf("created: %v, %+v", err, made)
	}
	type look struct{ title, description, color, image string }
	lookOf := func(board string) look {
		t.Helper()
		b, err := root.Board(t.Context(), board)
		if err != nil {
			t.Fatal(err)
		}
		return look{b.Title, b.Description, b.Color, b.Image}
	}
	db := backends.Connect(t, h.postgres)
	entries := func() int64 { return db.Count(t, `select count(*) from audit_log`) }
	before := entries()
	for field, change := range map[string]client.BoardChange{
		"title":       {Title: new(strings.Repeat("t", 81)), Color: new("#000000")},
		"description": {Description: new("one\ntwo")}, "color": {Color: new("red;}")},
		"image": {Image: new("http://cdn.example/a.png"), Title: new("other")},
	} {
		_, err := root.SetBoard(t.Context(), "cup", change)
		if e := (*client.Error)(nil); !errors.As(err, &e) || e.Status != http.StatusBadRequest || e.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	first := look{"The Cup", "", "#ffee00", ""}
	if lookOf("cup") != first || lookOf("cup:one") != first || entries() != before {
		t.Errorf("after invalid changes: got %+v, %+v", lookOf("cup"), lookOf("cup:one"))
	}
	const image = "https://cdn.example/cup.png"
	changed, err := root.SetBoard(t.Context(), "cup", client.BoardChange{
		Title: new(""), Description: new(`<b>"Best" & brightest</b>`), Image: new(image),
	})
	want := look{"", `<b>"Best" & brightest</b>`, "#ffee00", image}
	if err != nil || changed.Image != image || lookOf("cup") != want || lookOf("cup:one") != want ||
		entries() != before+1 {
		t.Errorf("changed: %v, %+v, %+v", err, lookOf("cup"), lookOf("cup:one"))
	}
	if _, err := root.RollBoards(t.Context(), "cup", client.RollRequest{
		Season: "two", EndsAt: new(time.Now().Add(2 * time.Hour)),
	}); err != nil {
		t.Fatal(err)
	}
	if got := lookOf("cup:two"); got != want {
		t.Errorf("the next season has %+v, want %+v", got, want)
	}
	for path, want := range map[string]string{
		"/b/cup":     `<p class="description"><bdi>&lt;b&gt;&#34;Best&#34; &amp; brightest&lt;/b&gt;</bdi></p>`,
		"/b/cup:one": image, "/embed/cup": image, "/b/": image,
		"/b/cup/card.svg": "&lt;b&gt;&#34;Best&#34; &amp; brightest&lt;/b&gt;",
	} {
		h.await(path, func() bool {
			_, header, body := request(t, http.MethodGet, n.URL+path, "", nil)
			policy := header.Get("Content-Security-Policy")
			return strings.Contains(body, want) && !strings.Contains(body, "<b>") &&
				(path == "/b/cup/card.svg" || strings.Contains(policy, "img-src 'self' https://cdn.example; "))
		})
	}
	clear := client.BoardChange{Description: new(""), Color: new(""), Image: new("")}
	if _, err := root.SetBoard(t.Context(), "cup", clear); err != nil || lookOf("cup") != (look{}) {
		t.Errorf("cleared: %v, %+v", err, lookOf("cup"))
	}
	if left := db.Count(t, `select count(*) from boards where appearance is not null`); left > 0 {
		t.Errorf("%d boards have an empty appearance", left)
	}
}

// A browser applies the colour in both themes, and may load the picture: the policy names both.
func TestAppearanceInBrowser(t *testing.T) {
	t.Parallel()
	v := newViewer(t, 2*awaitTimeout)
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0")
	if _, err := n.client("root", auth.ScopeAdmin).CreateBoard(t.Context(), client.BoardRequest{
		Board: "ring", Title: "Ring of fire", Description: "Best lap.", Color: "#ffee00",
		Image: "https://cdn.invalid/ring.png",
	}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/b/ring", "/embed/ring", "/b/"} {
		h.await(path, func() bool {
			_, _, body := request(t, http.MethodGet, n.URL+path, "", nil)
			return strings.Contains(body, "cdn.invalid")
		})
		for theme, want := range map[string]string{"dark": "rgb(255, 238, 0)", "light": "rgb(124, 115, 0)"} {
			v.run(chromedp.Navigate(n.URL + path + "?theme=" + theme))
			got := v.value(`(() => {
				const e = document.createElement("i"); e.style.color = "var(--accent)"
				;(document.querySelector(".tinted") ?? document.body).append(e)
				return getComputedStyle(e).color
			})()`)
			if got != want {
				t.Errorf("%s in the theme %s: the accent is %s, want %s", path, theme, got, want)
			}
		}
		if broken := v.value("JSON.stringify(window.broken)"); broken != "[]" {
			t.Errorf("%s: the policy or a script broke: %s", path, broken)
		}
	}
}
