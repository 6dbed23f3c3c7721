package console

import (
	"net/http"
	"net/url"

	"github.com/scoreboard/scoreboard/client/wire"
)

const tiersHint = "Named bands, best first, as NAME=rank:N, NAME=percentile:P or NAME=score:S, separated by commas. " +
	"None if empty."

// tierChanges change the tiers of boards.
func tierChanges() []*change {
	return []*change{{
		name:    "board-tiers",
		title:   "Change tiers",
		verb:    "Change board",
		section: "boards",
		action:  "board.set",
		intro:   "Sets the named bands of the standings. A user is in the first one that holds.",
		done:    "The board is changed.",
		fields: []field{
			{Name: "board", Label: "Board", Kind: "hidden"},
			{Name: "tiers", Label: "Tiers", Kind: "text", Hint: tiersHint},
		},
		effect: func(v url.Values) string {
			return "Reads of users of " + v.Get("board") + " say these tiers from now on, also in the periods that " +
				"have not ended. Scores do not change."
		},
		command: func(v url.Values) []string {
			tiers := v.Get("tiers")
			if tiers == "" {
				tiers = "none"
			}
			return []string{"board", "set", v.Get("board"), "--tiers", tiers}
		},
		request: func(v url.Values) (request, error) {
			tiers, err := wire.ParseTiers(v.Get("tiers"))
			if err != nil {
				return request{}, &failure{
					Status: http.StatusBadRequest, Code: string(wire.CodeInvalidRequest), Field: "tiers",
					Message: "The tiers are not valid.", Next: tiersHint,
				}
			}
			return request{ids: boardIDs(v), query: reasonQuery(v), body: wire.BoardChange{Tiers: &tiers}}, nil
		},
		back: func(v url.Values) string { return boardHref(v.Get("board")) },
	}}
}
