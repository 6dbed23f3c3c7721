package admin

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/corrections"
)

// Imports writes the scores of other systems: one transaction at a time, of one caller after
// the other, and no more records a second than its rate, so that increments have precedence.
type Imports struct {
	*corrections.Imports
	rate *rate.Limiter
	turn *share.Pool
}

// NewImports returns an Imports of at most perSecond records a second.
func NewImports(store *corrections.Imports, perSecond int) *Imports {
	return &Imports{
		store, rate.NewLimiter(rate.Limit(perSecond), scoreboard.MaxImportRecords), share.New(1),
	}
}

// maxImportWait is how long records wait for earlier ones.
const maxImportWait = 2 * time.Second

// WriteImport implements api.Imports.
func (i *Imports) WriteImport(
	ctx context.Context, id int64, records []scoreboard.ImportRecord, by *scoreboard.AuditEntry,
) (scoreboard.ImportOutcome, error) {
	wait, cancel := context.WithTimeout(ctx, maxImportWait)
	defer cancel()
	late := &scoreboard.Error{
		Code: wire.CodeRateLimited, RetryAfter: time.Second,
		Message: "too many records; see the setting import.records_per_second",
	}
	release, err := i.turn.Take(wait, share.Claim{})
	if err != nil {
		return scoreboard.ImportOutcome{}, late
	}
	defer release()
	if err := i.rate.WaitN(wait, len(records)); err != nil {
		return scoreboard.ImportOutcome{}, late
	}
	return i.Imports.WriteImport(ctx, id, records, by)
}
