package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// HistorySource is PostgreSQL's own history. cursors is the history that the
// relay's cursors belong to, or empty.
type HistorySource interface {
	History(ctx context.Context) (now scoreboard.History, cursors string, err error)
	// CountCheck counts a check of the history and returns it once it is durable.
	CountCheck(ctx context.Context) (checks int64, err error)
	// AdoptHistory returns a conflict if the database's history is no longer now.
	AdoptHistory(ctx context.Context, now, before scoreboard.History, why *scoreboard.AuditEntry) error
}

// HistoryRecorder stores, in Redis, the history that the ranking was built from.
type HistoryRecorder interface {
	History(ctx context.Context) (scoreboard.History, error)
	// AdvanceHistory stores now unless the history is no longer before.
	AdvanceHistory(ctx context.Context, before, now scoreboard.History) error
	SetHistory(ctx context.Context, h scoreboard.History) error
	// Distrust makes boards that were built before an adoption unreadable.
	Distrust(ctx context.Context, adopted int64) error
}

// HistoryChange reports that PostgreSQL's history is not the one that the
// ranking and the relay follow: it was restored, failed over or replaced.
type HistoryChange struct {
	Now, Before scoreboard.History
	// SameDatabase: the same database on another timeline, or at an earlier
	// position. It can be adopted automatically. A different database needs an
	// operator, because a wrong setting looks the same.
	SameDatabase bool
	// Adopted: the history is adopted, and boards are yet to be rebuilt from it.
	Adopted bool
}

func (c *HistoryChange) String() string {
	what := "PostgreSQL is not the database that the ranking was built from"
	if c.SameDatabase {
		what = "PostgreSQL went back in time or changed its timeline"
	}
	return fmt.Sprintf("%s: expected %s, found %s", what, c.Before, c.Now)
}

// CheckHistory compares the history of the store with that of the ranking. It
// returns nil if the store's only continues.
func CheckHistory(ctx context.Context, store HistorySource, ranking HistoryRecorder) (*HistoryChange, error) {
	change, _, _, err := compareHistory(ctx, store, ranking)
	return change, err
}

// KeepHistory is CheckHistory that stores, where nothing has changed, how far the
// history has come, and one more check. A restored store has fewer checks, which nobody
// increases before it is adopted. So what was recorded more than a check before the
// loss is not needed to find it, however far the log has come since.
func KeepHistory(ctx context.Context, store HistorySource, ranking HistoryRecorder) (*HistoryChange, error) {
	change, before, now, err := compareHistory(ctx, store, ranking)
	if err != nil || change != nil {
		return change, err
	}
	if now.Checks, err = store.CountCheck(ctx); err != nil {
		return nil, err
	}
	return nil, ranking.AdvanceHistory(ctx, before, now)
}

// compareHistory also returns the ranking's history and the store's.
//
// The position and the checks in the ranking were in the store before they were in the
// ranking. So the ranking is read first: what is read from the store later is never
// lower, whichever process has advanced the ranking's meanwhile.
func compareHistory(
	ctx context.Context, store HistorySource, ranking HistoryRecorder,
) (change *HistoryChange, before, now scoreboard.History, err error) {
	if before, err = ranking.History(ctx); err != nil {
		return nil, before, now, err
	}
	now, cursors, err := store.History(ctx)
	if err != nil {
		return nil, before, now, err
	}
	known := before
	if cursors != "" && before.ID != cursors {
		// Redis was flushed; the relay's cursors were not.
		known = scoreboard.History{ID: cursors, Adopted: before.Adopted}
	}
	if now.Follows(known) {
		return nil, before, now, nil
	}
	return &HistoryChange{
		Now: now, Before: known, SameDatabase: now.SameStore(known),
		Adopted: cursors == "" && now.AdoptedAfter(known),
	}, before, now, nil
}

// Adoption lets the ranking follow a history of the store other than the one that it
// was built from.
type Adoption struct {
	Store   HistorySource
	Ranking HistoryRecorder
	Runner  *upkeep.Runner
}

const (
	adoptionLease    = "history"
	adoptionLeaseTTL = 10 * time.Second
)

// The action and the target of an adoption in the audit log.
const (
	AdoptAction = "history.adopt"
	AdoptTarget = "database:postgresql"
)

// ErrAdoptedElsewhere means that another process is adopting the history.
var ErrAdoptedElsewhere = errors.New("another process is adopting the history of PostgreSQL")

// Run adopts the store's history, calls rebuild, which must rebuild every board, and
// records that this is done. It holds a lease, so that one process at a time does so.
// Before it acts it checks again, under the lease: nothing is adopted unless mayAdopt
// agrees with what it finds then. An interrupted adoption is continued, not repeated.
//
// From the adoption on, boards of the history before are not read, and the outbox is
// relayed from its start. why is written to the audit log in the transaction of the
// adoption.
func (a *Adoption) Run(
	ctx context.Context, why *scoreboard.AuditEntry, mayAdopt func(*HistoryChange) error,
	rebuild func(context.Context) error,
) error {
	err := a.Runner.Hold(ctx, adoptionLease, adoptionLeaseTTL, func(ctx context.Context) error {
		return a.adopt(ctx, why, mayAdopt, rebuild)
	})
	if errors.Is(err, upkeep.ErrLost) {
		return ErrAdoptedElsewhere
	}
	return err
}

// adopt is Run under the lease.
func (a *Adoption) adopt(
	ctx context.Context, why *scoreboard.AuditEntry, mayAdopt func(*HistoryChange) error,
	rebuild func(context.Context) error,
) error {
	change, err := CheckHistory(ctx, a.Store, a.Ranking)
	if err != nil || change == nil {
		return err
	}
	if !change.Adopted {
		if err := mayAdopt(change); err != nil {
			return err
		}
		if err := a.Store.AdoptHistory(ctx, change.Now, change.Before, why); err != nil {
			return err
		}
	}
	adopted, _, err := a.Store.History(ctx)
	if err != nil {
		return err
	}
	if err := a.Ranking.Distrust(ctx, adopted.Adopted); err != nil {
		return err
	}
	if err := rebuild(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil { // the lease was lost, and rebuild did not notice
		return context.Cause(ctx)
	}
	return a.complete(ctx, adopted)
}

// complete records that every board was rebuilt from the adopted history. If the
// store's has changed again meanwhile, the next check finds it.
func (a *Adoption) complete(ctx context.Context, adopted scoreboard.History) error {
	now, cursors, err := a.Store.History(ctx)
	if err != nil {
		return err
	}
	if cursors != "" || !now.Follows(adopted) {
		return scoreboard.Errorf(wire.CodeUnavailable,
			"PostgreSQL's history changed during its adoption, start it again: expected %s, found %s", adopted, now)
	}
	return a.Ranking.SetHistory(ctx, now)
}
