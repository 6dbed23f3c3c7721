package protocol

import (
	"encoding/json"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// SeasonClosed is the event of a period that has ended with final standings
// (docs/events.md).
type SeasonClosed struct {
	Schema           int          `json:"schema"`
	Type             string       `json:"type"` // season.closed
	EventID          string       `json:"event_id"`
	Board            string       `json:"board"` // the instance
	Family           string       `json:"family"`
	Period           string       `json:"period"`
	Region           string       `json:"region,omitempty"`
	Mode             string       `json:"mode"`
	Order            string       `json:"order"`
	Subscore         string       `json:"subscore,omitempty"` // highest or lowest; absent without subscores
	PeriodStart      time.Time    `json:"period_start"`
	PeriodEnd        time.Time    `json:"period_end"`
	ClosedAt         time.Time    `json:"closed_at"`
	Users            int64        `json:"users"`
	StandingsHash    string       `json:"standings_hash"`
	StandingsVersion int          `json:"standings_version"`
	Top              []wire.Entry `json:"top"`
}

// EncodeSeasonClosed encodes the event of a period with final standings.
func EncodeSeasonClosed(e *scoreboard.EndedPeriod) []byte {
	b := &e.Board
	out := SeasonClosed{
		Schema: Schema, Type: "season.closed", EventID: scoreboard.FormatUUID(e.EventID().UUID),
		Board: string(b.ID), Family: string(b.Family), Period: string(b.Period), Region: b.Region,
		Mode: string(b.Mode), Order: string(b.Order), Subscore: string(b.Subscore), Users: e.Users,
		StandingsHash:    b.StandingsHash,
		StandingsVersion: b.StandingsVersion,
		PeriodStart:      scoreboard.WritableTime(b.PeriodStart), PeriodEnd: scoreboard.WritableTime(b.PeriodEnd),
		ClosedAt: scoreboard.WritableTime(b.Closed), Top: make([]wire.Entry, len(e.Top)),
	}
	for i, entry := range e.Top {
		out.Top[i] = wire.Entry{Rank: entry.Rank, UserID: string(entry.User), Score: int64(entry.Score)}
		if b.HasSubscores() {
			out.Top[i].Subscore = new(int64(entry.Subscore))
		}
	}
	value, err := json.Marshal(out)
	if err != nil {
		panic(err) // plain fields always marshal, and every time can be written
	}
	return value
}
