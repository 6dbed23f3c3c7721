package server

import (
	"context"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/repair"
)

// history compares the database with what ranking and relay were fed from.
func (d doctor) history(ctx context.Context) protocol.Check {
	turn, err := repair.Turned(ctx, d.s.store, d.s.ranking)
	switch {
	case err != nil:
		return protocol.Check{Name: "history", Status: protocol.CheckSkipped, Detail: "PostgreSQL or Redis does not say"}
	case turn == nil:
		return protocol.Check{Name: "history", Status: protocol.CheckOK, Detail: "PostgreSQL is what was ranked and relayed"}
	case turn.Own:
		return protocol.Check{
			Name: "history", Status: protocol.CheckFail, Detail: turn.String(),
			NextStep: "every board is being overwritten; if this stays, is a process with the role maintenance running?",
		}
	}
	return protocol.Check{
		Name: "history", Status: protocol.CheckFail, Detail: turn.String() + "; nothing is published",
		NextStep: "if this is the database that is meant, \"sbctl rebuild --all\" makes it the truth; else correct postgres.url",
	}
}
