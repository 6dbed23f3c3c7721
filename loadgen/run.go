package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// Report is what a run came to.
type Report = report.Report

// run is one run.
type run struct {
	Options
	whole map[string]any // parameters, before a shard took its part
	*session
	began time.Time
	book  *book
	draw  *draw

	mu      sync.Mutex // guards what is recorded, for samples come from many
	file    *record.Writer
	builder *report.Builder
	samples []pending
	ahead   int // sights before what they saw was recorded
	server  record.Tick

	last Progress

	ending record.Ending
}

// pending is a sample whose moment is not yet placed in the run.
type pending struct {
	where string
	at    time.Time
	took  time.Duration
}

// Run plays a plan, holds the server to its scenario, and reports. When ctx
// ends first, no further request is sent, those in flight are waited for, and
// the report says that it was cut.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Plan.Check(); err != nil {
		return nil, fmt.Errorf("plan the load: %w", err)
	}
	if o.Settle == 0 {
		o.Settle = 15 * time.Second
	}
	if o.Show == nil {
		o.Show = func(Progress) {}
	}
	whole := o.Parameters()
	if o.Shard.Of > 1 {
		o.Plan = o.Plan.part(o.Shard)
	}
	session, err := newSession(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer session.close()
	r := &run{
		Options: o, whole: whole, session: session, book: newBook(&o.Plan),
		ending: record.Ending{Measured: map[string]float64{}, Skipped: map[string]string{}},
	}
	if left := time.Until(r.given.ends); !r.minted && !r.given.ends.IsZero() && left < o.Plan.Pace.Duration() {
		r.ending.Notes = append(r.ending.Notes, fmt.Sprintf("the token ended after %v, before the run: this server mints no other", left.Round(time.Second)))
	}
	raw, err := r.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.Close() }() // for the ways out below; a second close does nothing
	if err := r.all(ctx, raw); err != nil {
		return nil, err
	}
	rep, err := r.builder.Report()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.file.Close(r.ending), raw.Close()); err != nil {
		return nil, err
	}
	if o.Out == "" {
		return rep, nil
	}
	return rep, rep.Write(o.Out)
}

// open makes the file of the record.
func (r *run) open() (io.WriteCloser, error) {
	if r.Out == "" {
		return discard{io.Discard}, nil
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the report: %w", err)
	}
	f, err := os.Create(filepath.Join(r.Out, RawFile))
	if err != nil {
		return nil, fmt.Errorf("make the record: %w", err)
	}
	return f, nil
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// all is the run: what comes before the load, the load, and what comes after.
func (r *run) all(ctx context.Context, raw io.Writer) error {
	var acceptance *acceptance
	if r.Scenario != nil {
		acceptance = newAcceptance(r)
		defer acceptance.close()
		if err := acceptance.before(ctx); err != nil {
			return err
		}
	}
	if err := r.begin(raw); err != nil {
		return err
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	var others sync.WaitGroup
	others.Go(func() { r.watchServer(beside) })
	faults := newFaults(r.Faults, r.Plan.Pace.Duration())
	others.Go(func() { faults.run(beside, r.Say) })
	if acceptance != nil {
		others.Go(func() { acceptance.beside(beside) })
	}
	tokens := r.tokens()
	if len(tokens) > 1 {
		r.ending.Notes = append(r.ending.Notes, fmt.Sprintf("played under %d tokens, for the updates of one are limited", len(tokens)))
	}
	p := &player{
		plan: &r.Plan, due: r.Plan.requests(), server: r.Server, tokens: tokens,
		hit: r.hit, acked: func(event) {}, every: r.every,
	}
	if acceptance != nil {
		p.acked = acceptance.acked
	}
	var err error
	r.ending.Lasted, r.ending.Cut, err = p.play(ctx, r.draw, r.book)
	stop()
	others.Wait()
	if err != nil {
		return err
	}
	for name, v := range r.book.tallies() {
		r.ending.Measured[name] = v
	}
	faults.end(&r.ending)
	if acceptance != nil && !r.ending.Cut {
		r.Say("the load has ended; comparing the ledger, the scores and the ranks with what was answered")
		if err := acceptance.after(ctx); err != nil {
			// The load is worth its report; what was not measured fails its criterion.
			r.ending.Notes = append(r.ending.Notes, "the comparison was given up: "+err.Error())
			r.ending.Cut = ctx.Err() != nil
		}
	}
	r.place()
	if r.ahead > 0 {
		r.ending.Notes = append(r.ending.Notes, fmt.Sprintf("%d times an increment was seen before it was recorded: the store's clock is ahead, and those are not in the freshness", r.ahead))
	}
	r.builder.Ending(r.ending)
	return nil
}

// begin writes the header, at the moment from which all is counted.
func (r *run) begin(raw io.Writer) error {
	r.began = time.Now()
	r.draw = newDraw(&r.Plan, r.began)
	due := r.Plan.requests()
	h := record.Header{
		Began: r.began, Parameters: r.whole, Machine: r.Machine, Duration: due.Duration(), Checks: plain, Shard: r.Shard,
	}
	if s := r.Scenario; s != nil {
		h.Profile, h.Scaled, h.Checks = s.Name, s.Scaled, nil
		for _, c := range s.Criteria {
			h.Checks = append(h.Checks, record.Check{Text: c.String(), Source: c.Source})
		}
	}
	for at := time.Duration(0); at < due.Duration(); at += time.Second {
		h.Asked = append(h.Asked, due.Expected(at+time.Second)-due.Expected(at))
	}
	r.builder = report.NewBuilder(h)
	var err error
	r.file, err = record.NewWriter(raw, h)
	return err
}
