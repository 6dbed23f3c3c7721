package admin

import (
	"context"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/corrections"
	"github.com/scoreboard/scoreboard/server/store/history"
)

// WhatIf asks what other rules would change, and applies them.
type WhatIf struct {
	PastBoards  *history.PastBoards
	Corrections *corrections.Corrections
}

// WhatIf implements api.WhatIf.
func (w WhatIf) WhatIf(
	ctx context.Context, board *scoreboard.Board, ask *scoreboard.WhatIf, progress func(rows int64),
) (*scoreboard.WhatIfResult, error) {
	return w.PastBoards.WhatIf(ctx, board, ask, progress)
}

// ApplyWhatIf implements api.WhatIf.
func (w WhatIf) ApplyWhatIf(
	ctx context.Context, board *scoreboard.Board, ask *scoreboard.WhatIf, digest string, why *scoreboard.AuditEntry,
	progress func(rows int64),
) (*scoreboard.WhatIfResult, *scoreboard.Void, error) {
	if board.Ended() {
		return nil, nil, scoreboard.Errorf(wire.CodeBoardClosed,
			"board %s has ended: its standings are final", board.ID)
	}
	ask.Keep = true
	r, err := w.PastBoards.WhatIf(ctx, board, ask, progress)
	switch {
	case err != nil:
		return nil, nil, err
	case r.Digest != digest:
		return nil, nil, scoreboard.Errorf(wire.CodeConflict,
			"the rules reject other events than in the result: %d now, digest %s; nothing was voided",
			r.Rejected, r.Digest)
	case r.Rejected == 0:
		return nil, nil, scoreboard.Errorf(wire.CodeConflict, "the rules reject no event; nothing to void")
	case r.Rejected > scoreboard.MaxWhatIfVoid:
		return nil, nil, scoreboard.Invalid("since",
			"the rules reject %d events; at most %d can be voided at once, choose a later since", r.Rejected,
			scoreboard.MaxWhatIfVoid)
	}
	v, err := w.Corrections.CreateVoidOf(ctx, &scoreboard.VoidSet{
		Board: board.ID, Since: r.Since, Until: r.AsOf, Digest: r.Digest, Events: r.Events,
	}, why)
	return r, v, err
}
