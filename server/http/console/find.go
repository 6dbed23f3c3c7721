package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Bounds of one search.
const (
	maxFound = 6   // of one kind
	maxAsked = 255 // bytes of a text that is searched for
)

// found is a page, a change, a board or a player that a search finds.
type found struct {
	Kind   string `json:"kind"`
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
	Href   string `json:"href"`
}

// find answers the command palette and the pickers of forms with what matches a text, as JSON. With the
// parameter kind, it finds that kind only.
func (c *views) find(w http.ResponseWriter, r *http.Request, s *session) error {
	asked, kind := strings.TrimSpace(r.URL.Query().Get("q")), r.URL.Query().Get("kind")
	asked = asked[:min(len(asked), maxAsked)]
	k, out := c.caller.as(r, s), []found{}
	for _, search := range []struct {
		kind string
		run  func() []found
	}{
		{"page", func() []found { return findPages(s, asked) }},
		{"board", func() []found { return findBoards(k, asked) }},
		{"player", func() []found { return findPlayers(k, s, asked) }},
		{"action", func() []found { return findActions(s, asked) }},
	} {
		if kind == "" || kind == search.kind {
			out = append(out, search.run()...)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(out)
}

// contains reports whether a label has the text, whatever its case.
func contains(label, asked string) bool {
	return strings.Contains(strings.ToLower(label), strings.ToLower(asked))
}

func findPages(s *session, asked string) (out []found) {
	for _, page := range sections {
		if s.May(page.Scope) && contains(page.Label, asked) {
			out = append(out, found{Kind: "page", Label: page.Label, Href: page.Path})
		}
	}
	return out
}

// findActions finds the changes that need no page from which they begin.
func findActions(s *session, asked string) (out []found) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		ch := changes[name]
		given := slices.ContainsFunc(ch.fields, func(f field) bool { return f.Kind == "hidden" })
		if given || !contains(ch.title, asked) || !s.May(s.scopeOf(ch.operation())) {
			continue
		}
		out = append(out, found{Kind: "action", Label: ch.title, Detail: ch.intro, Href: Root + "/changes/" + name})
	}
	return out
}

// findBoards finds the boards whose name begins with a text.
func findBoards(k *call, asked string) (out []found) {
	asked = strings.ToLower(asked)
	q := url.Values{"limit": {"20"}} // some before the first that begins with the text
	if after := nameBefore(asked); after != "" {
		q.Set("after", after)
	}
	var page wire.Boards
	if k.get("/v1/boards", q, &page) != nil {
		return nil
	}
	for i := range page.Boards {
		if b := &page.Boards[i]; strings.HasPrefix(b.Board, asked) && len(out) < maxFound {
			out = append(out, found{Kind: "board", Label: b.Board, Detail: b.Status, Href: boardHref(b.Board)})
		}
	}
	return out
}

// nameBefore is a name after which the names that begin with a text are listed in their order, which is that
// of their bytes; "" for the start of the list.
func nameBefore(text string) string {
	const bytes = "-.0123456789:_abcdefghijklmnopqrstuvwxyz"
	if text == "" {
		return ""
	}
	last := len(text) - 1
	for at := strings.IndexByte(bytes, text[last]) - 1; at >= 0; at-- {
		before := text[:last] + bytes[at:at+1]
		before += strings.Repeat("z", max(0, scoreboard.MaxBoardNameLength-len(before)))
		if _, err := scoreboard.ParseBoardID(before); err == nil {
			return before
		}
	}
	if _, err := scoreboard.ParseBoardID(text[:last]); err == nil {
		return text[:last] // nothing is before the text but what it extends
	}
	return ""
}

// findPlayers finds the player with an id and, for operators, those whose display name begins with a text.
func findPlayers(k *call, s *session, asked string) (out []found) {
	if asked == "" {
		return nil
	}
	user := userOf(asked)
	if !s.May(scopeOperate) {
		return []found{{Kind: "player", Label: user, Href: playerHref(user)}}
	}
	if k.get("/v1/admin/users/"+url.PathEscape(user), nil, nil) == nil {
		out = append(out, found{Kind: "player", Label: user, Detail: "user id", Href: playerHref(user)})
	}
	users, _, err := foundList.fetch(k, url.Values{"name": {asked}, "limit": {"6"}})
	if err != nil {
		return out
	}
	for _, u := range users {
		if u.UserID != user && len(out) < maxFound {
			out = append(out, found{Kind: "player", Label: u.UserID, Detail: u.DisplayName, Href: playerHref(u.UserID)})
		}
	}
	return out
}
