package admin

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/store/boards"
	"github.com/scoreboard/scoreboard/server/store/operations"
	"github.com/scoreboard/scoreboard/server/store/recovery"
	"github.com/scoreboard/scoreboard/server/store/users"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// Jobs runs long operations on rankings: rebuild, verify and replay.
type Jobs struct {
	Catalog     *store.Catalog
	Store       *recovery.Recovery
	Teams       *users.Teams
	Rewards     *boards.Rewards
	DeadLetters *operations.DeadLetters
	Ranking     *ranking.Ranking
	Runner      *upkeep.Runner
	Window      scoreboard.Window // in which repeats are recognised

	Logs  map[string]EventLog // by topic
	Topic func() string       // the default of Replay: the current transport's; empty if it keeps no log
}

// Boards implements api.Jobs.
func (j Jobs) Boards(ctx context.Context) ([]scoreboard.Board, error) {
	return repair.RankedBoards(ctx, j.Catalog)
}

// Rebuild implements api.Jobs.
func (j Jobs) Rebuild(
	ctx context.Context, board *scoreboard.Board, progress func(users, total int64),
) (wire.Rebuilt, error) {
	total, err := j.Store.CountScores(ctx, board.ID)
	if err != nil {
		return wire.Rebuilt{}, err
	}
	done, err := repair.Rebuild(ctx, j.Store, j.Ranking, board, func(users int64) { progress(users, total) })
	if err != nil {
		return wire.Rebuilt{}, notLoaded(err, "the board has lost keys meanwhile; rebuild it again")
	}
	return wire.Rebuilt{
		Board: string(done.Board), Epoch: done.Epoch, Users: done.Users, TookMS: done.Elapsed.Milliseconds(),
	}, nil
}

// Halted implements api.Jobs.
func (j Jobs) Halted(ctx context.Context) (string, error) {
	change, err := repair.CheckHistory(ctx, j.Store, j.Ranking)
	if err != nil || change == nil {
		return "", err
	}
	return change.String(), nil
}

// Adopt implements api.Jobs.
func (j Jobs) Adopt(
	ctx context.Context, why *scoreboard.AuditEntry, rebuild func(context.Context) error,
) error {
	a := repair.Adoption{Store: j.Store, Ranking: j.Ranking, Runner: j.Runner}
	entry := *why
	entry.Action, entry.Target = repair.AdoptAction, repair.AdoptTarget
	asked := func(*repair.HistoryChange) error { return nil } // any history: an operator has asked for it
	err := a.Run(ctx, &entry, asked, rebuild)
	if errors.Is(err, repair.ErrAdoptedElsewhere) {
		return scoreboard.Errorf(wire.CodeConflict, "%v; the boards are already being rebuilt", err)
	}
	return err
}

// Verify implements api.Jobs.
func (j Jobs) Verify(
	ctx context.Context, boards []scoreboard.Board, user scoreboard.UserID, ledger, fix bool,
	progress func(users int64),
) (*wire.Verified, error) {
	check := repair.Check{
		Store: j.Store, Teams: j.Teams, Rewards: j.Rewards, Ranking: j.Ranking, User: user, CheckLedger: ledger,
		Repair:   fix,
		Progress: func(v *repair.VerifyResult) { progress(v.Users) },
	}
	v, err := check.Run(ctx, boards)
	if err != nil {
		return nil, notLoaded(err, "a board is being rebuilt; verify it when the rebuild has finished")
	}
	if user != "" && v.Users == 0 && v.DifferenceCount == 0 {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "user %s has no score on these boards", user)
	}
	out := &wire.Verified{
		Users: v.Users, Rows: v.Rows, Wrong: v.DifferenceCount, Repaired: v.Repaired, TookMS: v.Elapsed.Milliseconds(),
		Differences: []wire.Difference{}, Rewards: v.Rewards,
	}
	for _, d := range v.Differences {
		out.Differences = append(out.Differences, wire.Difference{
			Board: string(d.Board), UserID: string(d.User), Kind: d.Kind, Detail: d.Detail,
		})
	}
	return out, nil
}

// notLoaded makes the error of a board that is not loaded, or of which a key is broken, unavailable:
// the next check rebuilds it.
func notLoaded(err error, message string) error {
	if errors.Is(err, scoreboard.ErrNotLoaded) || ranking.IsBroken(err) {
		return &scoreboard.Error{Code: wire.CodeUnavailable, Message: message, RetryAfter: time.Second, Err: err}
	}
	return err
}
