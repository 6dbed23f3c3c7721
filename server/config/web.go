package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Web is the pages of boards, for players.
type Web struct {
	Boards  []string
	Origins []string
	URL     string // at which visitors reach the pages; "" if unknown
}

// AllBoards lists every public board.
const AllBoards = "*"

func (w *Web) settings() []setting {
	return []setting{
		{
			"web.boards", "public boards that have a page at /b/BOARD and can be embedded, readable there without a " +
				"token; * lists all public boards, none if empty",
			"", fixed, &w.Boards,
		},
		{
			"web.origins", "exact web origins whose pages may embed boards of web.boards, as ORIGIN for all of them " +
				"or BOARD=ORIGIN for one; http://localhost:* and http://127.0.0.1:* are those of any port; none if " +
				"empty",
			"", fixed, &w.Origins,
		},
		{
			"web.public_url", "scheme and host at which visitors reach the pages, such as https://scores.example, " +
				"for " +
				"the addresses in previews of links; none if empty",
			"", fixed, &w.URL,
		},
	}
}

func (w *Web) check(p *problems) {
	if w.URL != "" && !isOrigin(w.URL) {
		p.add("web.public_url", "must be a scheme and a host such as https://scores.example, not %q", w.URL)
	}
	for _, name := range w.Boards {
		if id, err := scoreboard.ParseBoardID(name); name != AllBoards && (err != nil || id.IsInstance()) {
			p.add("web.boards", "must be names of boards, or *, not %q", name)
		}
	}
	for _, text := range w.Origins {
		board, origin := splitOrigin(text)
		if !isOrigin(origin) && !slices.Contains(localOrigins, origin) {
			p.add("web.origins", "must be origins such as https://example.com, or BOARD=ORIGIN, not %q", text)
		} else if board != "" && !w.Lists(scoreboard.BoardID(board)) {
			p.add("web.origins", "names board %q, which is not in web.boards", board)
		}
	}
}

// localOrigins are the origins of pages that a developer's own machine serves, from any port.
// Policies of browsers know the same form.
var localOrigins = []string{"http://localhost" + anyPort, "http://127.0.0.1" + anyPort}

const anyPort = ":*"

// PublicURL is the address of the pages without a path; "" if it is unknown.
func (w *Web) PublicURL() string { return w.URL }

// splitOrigin splits an entry of web.origins; without a board it is for all.
func splitOrigin(text string) (board, origin string) {
	if board, origin, ok := strings.Cut(text, "="); ok {
		return board, origin
	}
	return "", text
}

// isOrigin reports whether a text is an origin as browsers send it: a scheme and a host, in
// lower case, with a port unless it is the default. It stands in a Content-Security-Policy,
// so nothing else may.
func isOrigin(text string) bool {
	return (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) && isAnyOrigin(text)
}

// isAnyOrigin is isOrigin for any scheme: applications send those of their own, such as
// capacitor://localhost.
func isAnyOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" ||
		u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
		return false
	}
	return u.Scheme+"://"+u.Host == text && strings.Trim(u.Host, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") == ""
}

// Lists reports whether a board, or the family of an instance, has a page.
func (w *Web) Lists(board scoreboard.BoardID) bool {
	return slices.Contains(w.Boards, AllBoards) || slices.Contains(w.Boards, string(board.Family()))
}

// Embeds reports whether a page of an origin, as browsers send it, may embed a board.
func (w *Web) Embeds(board scoreboard.BoardID, origin string) bool {
	return w.Lists(board) && slices.ContainsFunc(w.OriginsOf(board), func(of string) bool {
		host, local := strings.CutSuffix(of, anyPort)
		if !local {
			return of == origin
		}
		return isOrigin(origin) && (origin == host || strings.HasPrefix(origin, host+":"))
	})
}

// OriginsOf returns the origins that may embed a board, as a Content-Security-Policy has them.
func (w *Web) OriginsOf(board scoreboard.BoardID) []string {
	var origins []string
	for _, text := range w.Origins {
		if of, origin := splitOrigin(text); of == "" || of == string(board.Family()) {
			origins = append(origins, origin)
		}
	}
	return origins
}
