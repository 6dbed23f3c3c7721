package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/machine"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// storeBench uses the database of an installation without its daemon.
type storeBench struct{ *rig }

// Store compares group commit with one transaction per increment as in
// specification A, with the same PostgreSQL, callers and users.
func Store(ctx context.Context, o Options) error {
	on, err := newDir(o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := storeBench{on}
	if r.Backends = o.Backends; r.Backends == nil {
		postgres, err := startPostgres(ctx, r.dir, nil)
		if err != nil {
			return err
		}
		r.onStop(postgres.Kill)
		r.Backends = &Backends{Postgres: postgres}
	}
	r.prefix = fmt.Sprintf("bench%d", r.rigs.Add(1))
	if err := r.createDatabase(ctx); err != nil {
		return err
	}
	specified, err := machine.Transactions(ctx, r.database, r.store)
	if err != nil {
		return err
	}
	grouped, err := r.grouped(ctx)
	if err != nil {
		return err
	}
	r.printf("- one transaction per increment, %d callers: %.0f/s\n- group commit, %d callers: %.0f/s\n- ratio: %.1f\n",
		machine.Callers, specified, machine.Callers, grouped, grouped/specified)
	return nil
}

type noRanks struct{}

func (noRanks) Rank(context.Context, []*scoreboard.Receipt) {}

// grouped runs ingest and store as the daemon does.
func (r storeBench) grouped(ctx context.Context) (float64, error) {
	s, err := store.Open(ctx, store.Options{
		URL: r.database, MaxConns: 4, LockWait: 100 * time.Millisecond, Timeout: 5 * time.Second, Shards: 1,
	})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	in := ingest.New(
		ingest.Options{Lanes: 1, Batch: 500, Queue: 8192, Wait: time.Second}, s.Increments, noRanks{}, func() {},
		slog.New(slog.DiscardHandler),
	)
	runCtx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = in.Run(runCtx) })
	defer running.Wait()
	defer stop()
	return machine.Rate(ctx, r.store, func(ctx context.Context, user string) error {
		event, err := scoreboard.ParseEventID(scoreboard.UserID(user), client.NewEventID())
		if err != nil {
			return err
		}
		_, err = in.Submit(ctx, scoreboard.Increment{
			User: scoreboard.UserID(user), Delta: 1, Event: event, Boards: []scoreboard.BoardID{scoreboard.GlobalBoard},
			Source: scoreboard.SourceAPI, Client: time.Now(), KeyID: "k", Signer: user, Address: "127.0.0.1",
		})
		return err
	})
}
