// Package increments records increments and looks up recorded ones.
//
// Promise: a recorded event is in the ledger once per board, its user's versions
// on a board are 1, 2, 3 without a gap, the score is the last row's, and a change
// has its outbox row. One method is one transaction.
package increments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/ledgertx"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Options are the settings of Increments.
type Options struct {
	Shards int               // of the outbox
	Window scoreboard.Window // in which repeats are recognised
	// CloseGrace is how long after the end of a period increments that were
	// accepted before it still count for it.
	CloseGrace time.Duration
	// Policy returns the rules in force; nil: only the boards' own.
	Policy func() *scoreboard.IngestPolicy
	Log    *slog.Logger // nil: no logging
	// MakeInstances creates the missing instances of a family.
	MakeInstances func(ctx context.Context, family *scoreboard.Board) ([]scoreboard.BoardID, error)
	// MakeLedgerPartitions creates the ledger's partitions for times that are ahead of
	// the clock.
	MakeLedgerPartitions func(ctx context.Context, users []scoreboard.UserID) error
}

// Increments is the ledger as submitters use it.
type Increments struct {
	db *pg.DB
	tx ledgertx.Runner
	o  Options

	unusual unusual
	rules   rules

	anomalies *prometheus.CounterVec
	batches   *prometheus.CounterVec
}

// New returns an Increments over db.
func New(db *pg.DB, o Options) *Increments {
	s := &Increments{
		db: db, tx: ledgertx.Runner{DB: db, Window: o.Window, CloseGrace: o.CloseGrace}, o: o, rules: rules{db: db},
		anomalies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_anomalies_total", Help: "Events detected as anomalies, by rule and mode.",
		}, []string{"rule", "mode"}),
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_ledger_batches_total",
			Help: "Committed batches: added in one round trip, or decided in two because an increment, a board, a " +
				"user or a score was unusual.",
		}, []string{"kind"}),
	}
	for _, rule := range scoreboard.AnomalyRules {
		for _, mode := range []scoreboard.AnomalyMode{
			scoreboard.AnomalyLog, scoreboard.AnomalyFlag, scoreboard.AnomalyEnforce,
		} {
			s.anomalies.WithLabelValues(rule, string(mode)) // or increase() misses the first
		}
	}
	return s
}

// Collectors returns the metrics to register.
func (s *Increments) Collectors() []prometheus.Collector {
	return []prometheus.Collector{s.anomalies, s.batches}
}

// tries bounds how often a batch is retried before it fails as unavailable.
const tries = 4

// Record writes a batch of increments in one transaction and returns an outcome
// for each, in order: receipts, or the reason for the rejection. Increments of one
// user keep their order.
//
// A nil error means that the transaction is committed. After any other error the
// batch may or may not have been written, and Record can be called again with the
// same batch: repeats are recognised by their event ids.
//
// A user who stays locked longer than the lock wait does not delay the others: the
// outcome of each of that user's items is scoreboard.ErrUserLocked, and none of
// them is written.
func (s *Increments) Record(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	var err error
	locked := make(map[scoreboard.UserID]bool)
	waits := 0 // for the rows of users
	for try := range tries {
		if try > 0 && !errors.Is(err, ledgertx.ErrUsersLocked) {
			pause := time.Duration(1<<try) * time.Millisecond
			select {
			case <-time.After(pause/2 + rand.N(pause)):
			case <-ctx.Done():
				return nil, pg.Translate(ctx.Err())
			}
		}
		var outcomes []scoreboard.Outcome
		if outcomes, err = s.recordUnlocked(ctx, batch, locked); err == nil {
			return outcomes, nil
		}
		var missing *ledger.MissingInstanceError
		if errors.As(err, &missing) {
			if _, makeErr := s.o.MakeInstances(ctx, missing.Family); makeErr != nil {
				err = makeErr
			}
		}
		if pg.PartitionMissing(err) {
			// The clock has gone back, or a user's time is ahead of it.
			if makeErr := s.o.MakeLedgerPartitions(ctx, usersOf(batch)); makeErr != nil {
				err = makeErr
			}
		}
		if errors.Is(err, ledgertx.ErrUsersLocked) {
			waits++
			if probe := s.findLocked(ctx, batch, locked, waits > 1); probe != nil {
				err = probe
			}
		}
		if !pg.Retryable(err) {
			break
		}
	}
	return nil, pg.Translate(fmt.Errorf("record %d increments: %w", len(batch), err))
}

// rulesTries bounds how often a batch is run because the rules of boards have changed.
const rulesTries = 20

func (s *Increments) recordOnce(
	ctx context.Context, items []scoreboard.Increment,
) (outcomes []scoreboard.Outcome, err error) {
	for range rulesTries {
		outcomes, err = s.recordByRules(ctx, items)
		if !errors.Is(err, errRulesChanged) {
			return outcomes, err
		}
	}
	return nil, &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "the rules of boards are being changed",
		RetryAfter: pg.RetryAfterOutage, Err: err,
	}
}

func (s *Increments) recordByRules(
	ctx context.Context, items []scoreboard.Increment,
) ([]scoreboard.Outcome, error) {
	var policy *scoreboard.IngestPolicy
	if s.o.Policy != nil {
		policy = s.o.Policy()
	}
	rules, err := s.rules.of(ctx, items)
	if err != nil {
		return nil, err
	}
	if rules != nil {
		items = rules.Match(items)
	}
	if outcomes, err := s.add(ctx, items, policy, rules); outcomes != nil || err != nil {
		return outcomes, err
	}
	b := ledger.NewBatch(items, s.o.Shards, policy)
	err = s.tx.Run(ctx, b, func(ctx context.Context, conn *pgxpool.Conn) error {
		if rules != nil && b.RulesChanged(rules.Version) {
			s.rules.forget(rules)
			return errRulesChanged
		}
		if err := readActivity(ctx, conn, b); err != nil {
			return err
		}
		b.Decide()
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.batches.WithLabelValues("decided").Inc()
	s.report(b.Activity.Anomalies)
	return b.Outcomes, nil
}

func usersOf(batch []scoreboard.Increment) []scoreboard.UserID {
	users := make([]scoreboard.UserID, len(batch))
	for i := range batch {
		users[i] = batch[i].User
	}
	return users
}

// report counts and logs anomalies, once they are committed.
func (s *Increments) report(found []scoreboard.Anomaly) {
	for _, a := range found {
		s.anomalies.WithLabelValues(a.Rule, string(a.Mode)).Inc()
		if a.Mode == scoreboard.AnomalyLog && s.o.Log != nil {
			s.o.Log.Warn(
				"anomaly detected",
				slog.String("rule", a.Rule),
				slog.String("user", string(a.User)),
				slog.String(
					"event",
					a.Event.Text,
				),
				slog.String("board", string(a.Board)),
				slog.String("detail", a.Detail),
			)
		}
	}
}
