package console

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
)

// scoreChanges adjust scores and reverse events.
func scoreChanges() []*change {
	return []*change{
		{
			name: "adjust", title: "Adjust score", verb: "Adjust score", section: "players",
			action: "user.adjust",
			intro:  "Adds points to a user's score on one board, and records the adjustment in the ledger.",
			done:   "The score is adjusted.",
			fields: []field{
				userField,
				{Name: "board", Label: "Board", Kind: "text", Required: true, Value: "global"},
				{Name: "delta", Label: "Points", Kind: "number", Required: true, Hint: "Negative to subtract."},
				{
					Name: "subscore", Label: "Subscore", Kind: "number",
					Hint: "Added to the subscore, on a board with subscores. Points may be 0 then.",
				},
				{
					Name: "event", Label: "Event id", Kind: "text", Required: true,
					Hint: "Counts once: the same id does not adjust twice.",
				},
			},
			effect: func(v url.Values) string {
				gets := v.Get("delta") + " points"
				if v.Get("subscore") != "" {
					gets += " and " + v.Get("subscore") + " to the subscore"
				}
				return fmt.Sprintf("%s gets %s on the board %s, whatever the board's mode.",
					v.Get("user"), gets, v.Get("board"))
			},
			command: func(v url.Values) []string {
				words := []string{
					"user", "adjust", v.Get("user"), "--board", v.Get("board"), "--delta", v.Get("delta"),
				}
				if v.Get("subscore") != "" {
					words = append(words, "--subscore", v.Get("subscore"))
				}
				return append(words, "--event-id", v.Get("event"))
			},
			request: func(v url.Values) (request, error) {
				body := wire.AdjustRequest{
					Board: v.Get("board"), EventID: v.Get("event"), Reason: v.Get(reasonField),
				}
				var err error
				if body.Delta, err = integer(v, "delta", "Points"); err == nil && v.Get("subscore") != "" {
					var n int64
					n, err = integer(v, "subscore", "Subscore")
					body.Subscore = &n
				}
				return request{ids: []string{v.Get("user")}, body: body}, err
			},
			back: playerPath,
		},
		{
			name: "reverse", title: "Reverse event", verb: "Reverse event", section: "players", danger: true,
			action: "event.reverse", intro: "Takes an event back, with a reversal in the ledger.",
			done: "The event is reversed.",
			fields: []field{
				userField,
				{Name: "event", Label: "Event", Kind: "hidden"},
				{
					Name: "kind", Label: "Kind", Kind: "choice", Options: []string{"", "event", "adjustment"},
					Hint: "Only needed if an event and an adjustment of the user have the same id.",
				},
				{
					Name:    "open",
					Label:   "Boards that have ended",
					Kind:    "choice",
					Options: []string{"", "leave as they are"},
					Hint:    "Without it, an event that also counts on a board that has ended is not reversed.",
				},
			},
			effect: func(v url.Values) string {
				return fmt.Sprintf("Everything the event %s of %s counted is subtracted again, on all its boards. "+
					"It cannot be submitted again.", v.Get("event"), v.Get("user"))
			},
			command: func(v url.Values) []string {
				words := []string{"event", "reverse", v.Get("event"), "--user", v.Get("user")}
				if v.Get("kind") != "" {
					words = append(words, "--kind", v.Get("kind"))
				}
				if v.Get("open") != "" {
					words = append(words, "--open-boards")
				}
				return words
			},
			request: func(v url.Values) (request, error) {
				return request{
					ids: []string{v.Get("event")},
					body: wire.ReverseRequest{
						UserID: v.Get("user"), Reason: v.Get(reasonField), Kind: v.Get("kind"),
						OpenBoards: v.Get("open") != "",
					},
				}, nil
			},
			back: playerPath,
		},
	}
}

// newEventID makes the id of an adjustment.
func newEventID() string { return "console-" + strings.ToLower(rand.Text()) }
