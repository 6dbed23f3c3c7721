package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
)

// changes are all that the console can change, by name.
var changes = makeChanges()

func makeChanges() map[string]*change {
	out := make(map[string]*change)
	for _, group := range [][]*change{
		userChanges(), scoreChanges(), boardChanges(), tierChanges(), appearanceChanges(), tournamentChanges(),
		rewardChanges(), letterChanges(), integrityChanges(), keyChanges(), webhookChanges(), settingChanges(),
		jobChanges(),
		importChanges(),
	} {
		for _, ch := range group {
			out[ch.name] = ch
		}
	}
	return out
}

func boardIDs(v url.Values) []string { return []string{v.Get("board")} }

func playerPath(v url.Values) string { return Root + "/players/" + url.PathEscape(v.Get("user")) }

// reasonQuery is the reason in the query, where the API expects it there.
func reasonQuery(v url.Values) url.Values { return url.Values{"reason": {v.Get(reasonField)}} }

var userField = field{Name: "user", Label: "User", Kind: "hidden"}

// userChanges are the changes of a user's status.
func userChanges() (out []*change) {
	for _, s := range []struct {
		name, verb, intro, effect, done string
		danger                          bool
	}{
		{
			"ban", "Ban user", "Bans the user: writes are rejected, and the user disappears from all boards.",
			"%s disappears from every board and cannot submit scores. Scores are kept; unban restores them.",
			"The user is banned.", true,
		},
		{
			"unban", "Unban user", "Ends the ban: scores and ranks come back.",
			"%s returns to the boards with the scores from before the ban, and can submit scores again.",
			"The user is no longer banned.", false,
		},
		{
			"freeze", "Freeze user", "Blocks the user's writes. The user stays visible.",
			"%s stays on the boards and cannot submit scores until the freeze ends.",
			"The user is frozen.", true,
		},
		{
			"unfreeze", "Unfreeze user", "Ends the freeze.", "%s can submit scores again.",
			"The user is no longer frozen.", false,
		},
		{
			"erase", "Erase user", "Erases the user. This cannot be undone.",
			"%s is deleted from all boards, with profile, addresses and user agents. The ledger keeps the events " +
				"under an anonymous name, so that all sums stay correct. This cannot be undone.",
			"The user is erased.", true,
		},
	} {
		out = append(out, &change{
			name: "user-" + s.name, title: s.verb, verb: s.verb, section: "players", danger: s.danger,
			action: "user." + s.name, intro: s.intro, done: s.done,
			fields:  []field{userField},
			effect:  func(v url.Values) string { return fmt.Sprintf(s.effect, v.Get("user")) },
			command: func(v url.Values) []string { return []string{"user", s.name, v.Get("user")} },
			request: func(v url.Values) (request, error) {
				return request{
					ids: []string{v.Get("user")}, body: wire.ReasonRequest{Reason: v.Get(reasonField)},
				}, nil
			},
			back: playerPath,
		})
	}
	return out
}

// integer parses a field.
func integer(v url.Values, name, label string) (int64, error) {
	n, err := strconv.ParseInt(v.Get(name), 10, 64)
	if err != nil {
		return 0, &failure{
			Status: http.StatusUnprocessableEntity, Code: "invalid_request", Field: name,
			Message: label + " must be an integer.", Next: nextSteps["invalid_request"],
		}
	}
	return n, nil
}

func badTime(name, label string) error {
	return &failure{
		Status: http.StatusUnprocessableEntity, Code: "invalid_request", Field: name,
		Message: label + " must be a time such as 2026-11-21T10:00:00Z.", Next: nextSteps["invalid_request"],
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// splitList splits a text at commas; nil for "".
func splitList(s string) (out []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
