package pages

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxImageOrigins is from how many hosts a list loads pictures: its policy names each. Further boards have
// the initial of their title instead.
const maxImageOrigins = 20

// look is an appearance, of which nil is none.
func look(a *scoreboard.Appearance) appearance {
	if a == nil {
		return appearance{}
	}
	return appearance(*a)
}

type appearance scoreboard.Appearance

func (a appearance) titleOr(name scoreboard.BoardID) string { return cmp.Or(a.Title, string(name)) }

// Style is the style sheet of the board's colour; "" without one.
func (b *Board) Style() template.CSS {
	declaration := design.AccentCSS(look(b.Appearance).Color)
	if declaration == "" {
		return ""
	}
	return ":root { " + declaration + " }"
}

// Policy is the Content-Security-Policy of the page, without the origins that may frame it.
func (b *Board) Policy() string {
	var origins []string
	if b.Appearance != nil && b.Appearance.Image != "" {
		origins = append(origins, b.Appearance.ImageOrigin())
	}
	return policy(b.Style(), origins)
}

// Tinted reports whether the board has a colour.
func (l Listed) Tinted() bool { return design.AccentCSS(look(l.Appearance).Color) != "" }

// Style is the style sheet of the boards' colours; "" without any.
func (l *List) Style() template.CSS {
	var css template.CSS
	for i, b := range l.Boards {
		if b.Tinted() {
			css += template.CSS(fmt.Sprintf(".tint%d { %s } ", i, //nolint:gosec // made of numbers
				design.AccentCSS(b.Appearance.Color)))
		}
	}
	return css
}

// Add adds a board to the list, with its picture if the list may load one more or has one of its host.
func (l *List) Add(b Listed) {
	if a := b.Appearance; a != nil && a.Image != "" {
		origin := a.ImageOrigin()
		if !slices.Contains(l.origins, origin) && len(l.origins) < maxImageOrigins {
			l.origins = append(l.origins, origin)
		}
		if slices.Contains(l.origins, origin) {
			b.Picture = a.Image
		}
	}
	l.Boards = append(l.Boards, b)
}

// Policy is the Content-Security-Policy of the list, without the origins that may frame it.
func (l *List) Policy() string { return policy(l.Style(), l.origins) }

// ProblemPolicy is the Content-Security-Policy of the pages of errors.
func ProblemPolicy() string { return policy("", nil) }

// policy is the Content-Security-Policy of pages, without the origins that may frame them. They load
// their own assets and data, and pictures of boards; no script may write HTML. The only style that is in
// the page is that of the colours.
func policy(style template.CSS, images []string) string {
	styles := "'self'"
	if style != "" {
		sum := sha256.Sum256([]byte(style))
		styles += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src 'self'; style-src " + styles + "; img-src " +
		strings.Join(append([]string{"'self'"}, images...), " ") + "; connect-src 'self'; base-uri 'none'; " +
		"form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'; "
}
