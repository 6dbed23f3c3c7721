package repair

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Turns says whose turn something is that one of several processes does.
type Turns interface {
	Claim(ctx context.Context, what string, in time.Duration) (bool, error)
	ReleaseClaim(ctx context.Context, what string) error
}

// Pass compares every user of every board with the store, once in a while,
// whoever's turn it is: the sampler finds who has drifted, the pass also who is
// ranked and should not be.
type Pass struct {
	every   time.Duration
	check   Check // without boards; Progress is set here
	catalog Catalog
	turns   Turns
	halted  func() bool
	log     *slog.Logger

	passes, checked, drift, mended prometheus.Counter
	took                           prometheus.Gauge
}

const passName = "reconcile"

// NewPass makes a full pass every so often that mends what it finds if
// check.Mend is set. halted is as the sampler's.
func NewPass(every time.Duration, check Check, c Catalog, t Turns, halted func() bool, log *slog.Logger) *Pass {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_reconcile_pass_" + name, Help: help})
	}
	return &Pass{
		every: every, check: check, catalog: c, turns: t, halted: halted, log: log,
		passes:  counter("total", "Full passes that came to their end."),
		checked: counter("checked_total", "Users compared by full passes."),
		drift:   counter("drift_total", "Differences that full passes found."),
		mended:  counter("mended_total", "Differences that full passes put right."),
		took: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_reconcile_pass_seconds", Help: "How long the last full pass took.",
		}),
	}
}

// Collectors are what the root registers.
func (p *Pass) Collectors() []prometheus.Collector {
	return []prometheus.Collector{p.passes, p.checked, p.drift, p.mended, p.took}
}

// Run makes a pass whenever it is this process's turn, until ctx ends. The
// first one is due an interval after the start of whoever came first.
func (p *Pass) Run(ctx context.Context) error {
	look := time.NewTicker(max(min(p.every/10, time.Minute), 10*time.Millisecond))
	defer look.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		if p.halted() || time.Since(began) < p.every {
			continue
		}
		mine, err := p.turns.Claim(ctx, passName, p.every)
		if err == nil && mine {
			err = p.once(ctx)
		}
		if err != nil && ctx.Err() == nil {
			p.log.Warn("full pass not made", "err", err)
		}
	}
}

// once compares everybody. A board that is being rebuilt is left to the next
// pass.
func (p *Pass) once(ctx context.Context) error {
	boards, err := Ranked(ctx, p.catalog)
	if err != nil {
		return errors.Join(err, p.turns.ReleaseClaim(ctx, passName))
	}
	started := time.Now()
	var all Verified
	for i := range boards {
		v, err := p.check.Run(ctx, boards[i:i+1])
		if errors.Is(err, scoreboard.ErrNotLoaded) {
			continue
		}
		if err != nil {
			// Another process may try at once; without Redis, whoever is first later.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			return errors.Join(err, p.turns.ReleaseClaim(ctx, passName))
		}
		all.Users, all.Wrong, all.Mended = all.Users+v.Users, all.Wrong+v.Wrong, all.Mended+v.Mended
		for _, d := range v.Differences {
			p.log.Error("ranking differs from the store", "board", d.Board, "user", d.User, "kind", d.Kind, "detail", d.Detail)
		}
	}
	p.passes.Inc()
	p.checked.Add(float64(all.Users))
	p.drift.Add(float64(all.Wrong))
	p.mended.Add(float64(all.Mended))
	p.took.Set(time.Since(started).Seconds())
	p.log.Info("full pass made", "users", all.Users, "differences", all.Wrong, "mended", all.Mended, "elapsed", time.Since(started))
	return nil
}
