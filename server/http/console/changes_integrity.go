package console

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// letterChanges resolve dead letters.
func letterChanges() []*change {
	letter := field{Name: "id", Label: "Dead letter", Kind: "hidden"}
	path := func(v url.Values) string { return "/v1/admin/dead-letters/" + url.PathEscape(v.Get("id")) }
	list := func(url.Values) string { return Root + "/dead-letters" }
	show := func(k *call, v url.Values) ([]fact, error) {
		var l wire.DeadLetter
		if err := k.get(path(v), nil, &l); err != nil {
			return nil, err
		}
		return letterFacts(&l), nil
	}
	return []*change{
		{
			name: "letter-requeue", title: "Requeue dead letter", verb: "Requeue", section: "dead-letters",
			action: "letter.requeue", intro: "Processes the record again, and deletes the dead letter.",
			done: "The dead letter was processed again.", fields: []field{letter},
			effect: func(url.Values) string {
				return "The record is processed once more. If its event was counted already, it does not count twice."
			},
			dryRun:  show,
			command: func(v url.Values) []string { return []string{"dlq", "requeue", v.Get("id")} },
			request: func(v url.Values) (request, error) {
				return request{ids: []string{v.Get("id")}, query: reasonQuery(v)}, nil
			},
			back: list,
		},
		{
			name: "letter-drop", title: "Delete dead letter", verb: "Delete", section: "dead-letters", danger: true,
			action: "letter.drop", intro: "Deletes the dead letter without processing it.",
			done: "The dead letter is deleted.", fields: []field{letter},
			effect: func(url.Values) string {
				return "The record is deleted and never processed. This cannot be undone."
			},
			dryRun:  show,
			command: func(v url.Values) []string { return []string{"dlq", "drop", v.Get("id")} },
			request: func(v url.Values) (request, error) {
				return request{ids: []string{v.Get("id")}, query: reasonQuery(v)}, nil
			},
			back: list,
		},
	}
}

// integrityChanges decide flags, and create and undo voids.
func integrityChanges() (out []*change) {
	flag := field{Name: "id", Label: "Flag", Kind: "hidden"}
	for _, s := range []struct{ name, verb, effect, done string }{
		{
			"dismiss", "Dismiss flag", "The flag is closed as harmless. The user's scores stay.",
			"The flag is dismissed.",
		},
		{
			"confirm", "Confirm flag", "The flag is closed as justified. Scores do not change by themselves: reverse " +
				"the event or ban the user in addition.", "The flag is confirmed.",
		},
	} {
		out = append(out, &change{
			name: "flag-" + s.name, title: s.verb, verb: s.verb, section: "integrity", action: "flag." + s.name,
			intro: s.effect, done: s.done, fields: []field{flag},
			effect:  func(url.Values) string { return s.effect },
			command: func(v url.Values) []string { return []string{"flag", s.name, v.Get("id")} },
			request: func(v url.Values) (request, error) {
				return request{
					ids: []string{v.Get("id")}, body: wire.ReasonRequest{Reason: v.Get(reasonField)},
				}, nil
			},
			back: func(v url.Values) string { return Root + "/integrity/flags/" + url.PathEscape(v.Get("id")) },
		})
	}
	return append(out, voidChanges()...)
}

// voidRoute creates a void. A what-if that becomes one has the same action.
const voidRoute = "POST /v1/admin/voids"

func voidChanges() []*change {
	return []*change{
		{
			name:    "void-create",
			title:   "Void a sender's events",
			verb:    "Void events",
			section: "integrity",
			danger:  true,
			action:  "void.create",
			route:   voidRoute,
			intro: "Reverses all events that one key signed or one address sent in a time range. A void can be " +
				"undone within 30 days.",
			done: "The void has started.",
			fields: []field{
				{Name: "by", Label: "Sender", Kind: "choice", Options: []string{"key", "address"}},
				{Name: "sender", Label: "Key id or address", Kind: "text", Required: true},
				{Name: "from", Label: "From", Kind: "time", Required: true, Hint: "Such as 2026-11-21T10:00:00Z"},
				{
					Name:     "to",
					Label:    "To (exclusive)",
					Kind:     "time",
					Required: true,
					Hint:     "Such as 2026-11-21T11:00:00Z",
				},
			},
			effect: func(v url.Values) string {
				return "All these events are reversed in the background. Standings that are final stay as they are, " +
					"but rewards are taken back."
			},
			dryRun: func(k *call, v url.Values) ([]fact, error) {
				q, err := voidRequest(v, true)
				if err != nil {
					return nil, err
				}
				var p wire.VoidPreview
				if err := k.operate(voidRoute, q, &p); err != nil {
					return nil, err
				}
				facts := []fact{{"Events to reverse", number(p.Events)}, {"Users", number(p.Users)}}
				for _, b := range p.Boards {
					note := ""
					if b.Ended {
						note = ", final"
					}
					facts = append(facts, fact{"Board " + b.Board, text(fmt.Sprintf("%s events, %s points%s",
						formatNumber(b.Events), formatNumber(b.Applied), note))})
				}
				if r := p.Rewards; r != nil {
					facts = append(facts, fact{"Rewards to revoke", number(r.Revoked)},
						fact{"Claimed rewards to flag", number(r.Flagged)})
				}
				return facts, nil
			},
			command: func(v url.Values) []string {
				return []string{
					"event",
					"void",
					"--" + v.Get("by"),
					v.Get("sender"),
					"--from",
					v.Get("from"),
					"--to",
					v.Get("to"),
				}
			},
			request: func(v url.Values) (request, error) { return voidRequest(v, false) },
			back:    func(url.Values) string { return Root + "/integrity" },
			after: func(_ url.Values, answer json.RawMessage) string {
				var made wire.Void
				_ = json.Unmarshal(answer, &made) // an id of 0 leads to a clear error
				return fmt.Sprintf("%s/integrity/voids/%d", Root, made.ID)
			},
		},
		{
			name: "void-undo", title: "Undo void", verb: "Undo void", section: "integrity",
			action: "void.undo",
			intro:  "Restores every event that the void reversed.", done: "The void is being undone.",
			fields: []field{{Name: "id", Label: "Void", Kind: "hidden"}},
			effect: func(v url.Values) string {
				return "Every event that void #" + v.Get("id") + " reversed counts again."
			},
			command: func(v url.Values) []string { return []string{"event", "unvoid", v.Get("id")} },
			request: func(v url.Values) (request, error) {
				return request{
					ids: []string{v.Get("id")}, body: wire.ReasonRequest{Reason: v.Get(reasonField)},
				}, nil
			},
			back: func(v url.Values) string { return Root + "/integrity/voids/" + url.PathEscape(v.Get("id")) },
		},
	}
}

func voidRequest(v url.Values, dry bool) (request, error) {
	body := wire.VoidRequest{DryRun: dry}
	if !dry {
		body.Reason = v.Get(reasonField)
	}
	if v.Get("by") == "address" {
		body.Address = v.Get("sender")
	} else {
		body.KeyID = v.Get("sender")
	}
	var err error
	if body.From, err = scoreboard.ParseTime(v.Get("from")); err != nil {
		return request{}, badTime("from", "From")
	}
	if body.To, err = scoreboard.ParseTime(v.Get("to")); err != nil {
		return request{}, badTime("to", "To")
	}
	return request{body: body}, nil
}
