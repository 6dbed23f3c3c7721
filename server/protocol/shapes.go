package protocol

import (
	"encoding/json"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// NewFlag returns a flag as the API shows it.
func NewFlag(f *scoreboard.Flag) wire.Flag {
	out := wire.Flag{
		ID: f.ID, State: f.State, Rule: f.Rule, Mode: string(f.Mode), UserID: string(f.User), Board: string(f.Board),
		EventID: f.Event.Text, Delta: f.Delta, Detail: f.Detail, Times: f.Times,
		CreatedAt: f.CreatedAt, LastAt: f.LastAt,
		DecidedBy: string(f.DecidedBy), Reason: f.Reason,
	}
	if !f.DecidedAt.IsZero() {
		out.DecidedAt = &f.DecidedAt
	}
	return out
}

// Entries converts rows to their wire format.
func Entries(rows []scoreboard.Entry) []wire.Entry {
	out := make([]wire.Entry, len(rows))
	for i, e := range rows {
		out[i] = wire.Entry{Rank: e.Rank, UserID: string(e.User), Score: int64(e.Score), Private: e.Private}
		if e.Profile != nil {
			out[i].DisplayName, out[i].AvatarURL = e.Profile.DisplayName, e.Profile.AvatarURL
		}
	}
	return out
}

// EntriesOf is Entries for rows of a board that has subscores, or has none.
func EntriesOf(subscores bool, rows []scoreboard.Entry) []wire.Entry {
	out := Entries(rows)
	for i := range out {
		if subscores {
			out[i].Subscore = new(int64(rows[i].Subscore))
		}
	}
	return out
}

// ListEntries converts rows, best first, to a list, in which equal scores may share a rank, too.
func ListEntries(rows []scoreboard.Entry, shared bool) []wire.ListEntry {
	out := make([]wire.ListEntry, len(rows))
	for i, e := range Entries(rows) {
		out[i] = wire.ListEntry{ListRank: i + 1, Entry: e}
		if shared && i > 0 && rows[i].Pair() == rows[i-1].Pair() {
			out[i].ListRank = out[i-1].ListRank
		}
	}
	return out
}

// NewTeamRule returns the JSON of a rule.
func NewTeamRule(r *scoreboard.TeamRule) *wire.TeamRule {
	if r == nil {
		return nil
	}
	return &wire.TeamRule{
		Source: string(r.Source), Aggregate: string(r.Aggregate), Best: r.Best, Moves: string(r.Moves),
	}
}

// EncodeWebhook returns the body of a request to a webhook; data is JSON.
func EncodeWebhook(t scoreboard.WebhookType, occurred time.Time, data json.RawMessage) string {
	body, err := json.Marshal(wire.WebhookMessage{
		Type: string(t), Timestamp: scoreboard.WritableTime(occurred.UTC()), Data: data,
	})
	if err != nil {
		panic(err) // data is JSON, and every time can be written
	}
	return string(body)
}

// NewError is an error as clients see it: without its cause, and escaped, because
// messages and fields repeat what was sent. Every error that leaves the server is made
// here.
func NewError(e *scoreboard.Error) wire.Error {
	out := wire.Error{
		ErrorCode: string(e.Code), Message: scoreboard.Escape(e.Message), Field: scoreboard.Escape(e.Field),
		Reason: string(e.Reason), WouldRank: e.WouldRank,
	}
	if !e.NextReset.IsZero() {
		out.NextReset = &e.NextReset
	}
	return out
}
