package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
	"github.com/scoreboard/scoreboard/loadgen/verify"
)

// Report is the report of a run.
type Report = report.Report

// run is the state of a run.
type run struct {
	Options
	parameters map[string]any // of the whole plan, not of a shard's part
	board      string         // of the plan's dialect; "" for the native API
	prefix     string         // of all users of the run, or of the search that it belongs to
	*session
	start   time.Time
	tracker *verify.Tracker
	events  *plan.Events

	mu      sync.Mutex // guards samples, early and server, which several goroutines write
	file    *record.Writer
	builder *report.Builder
	samples []pending
	early   int // samples that were seen before their commit
	server  record.Tick

	last Progress

	ending record.Ending
}

// pending is a sample that is not recorded yet.
type pending struct {
	where string
	at    time.Time
	took  time.Duration
}

// Run plays a plan, checks the criteria of its scenario, and reports. When ctx
// ends early, it sends no further request, waits for those in flight, and marks
// the report as cut.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Plan.Validate(); err != nil {
		return nil, fmt.Errorf("invalid load: %w", err)
	}
	if o.Settle == 0 {
		o.Settle = 15 * time.Second
	}
	if o.Show == nil {
		o.Show = func(Progress) {}
	}
	parameters, prefix := o.Parameters(), cmp.Or(o.prefix, o.Plan.Prefix)
	if o.Shard.Of > 1 {
		o.Plan = o.Plan.Part(o.Shard)
	}
	session, err := newSession(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer session.close()
	r := newRun(o, session)
	r.parameters, r.prefix = parameters, prefix
	left := time.Until(r.given.expires)
	if !r.mints && !r.given.expires.IsZero() && left < o.Plan.Schedule.Duration() {
		r.note("the token expired after %v, before the end of the run: this server does not mint tokens",
			left.Round(time.Second))
	}
	raw, err := r.create()
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.Close() }() // for the early returns; a second close has no effect
	if err := r.run(ctx, raw); err != nil {
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

func newRun(o Options, s *session) *run {
	return &run{
		Options: o, session: s, tracker: verify.NewTracker(&o.Plan),
		ending: record.Ending{Measured: record.Measured{}, Skipped: map[string]string{}},
	}
}

// note adds a note to the report.
func (r *run) note(format string, args ...any) {
	r.ending.Notes = append(r.ending.Notes, fmt.Sprintf(format, args...))
}

// create creates the file of the record.
func (r *run) create() (io.WriteCloser, error) {
	if r.Out == "" {
		return discard{io.Discard}, nil
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of the report: %w", err)
	}
	f, err := os.Create(filepath.Join(r.Out, RawFile))
	if err != nil {
		return nil, fmt.Errorf("create the record: %w", err)
	}
	return f, nil
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// run runs the steps before, during and after the load.
func (r *run) run(ctx context.Context, raw io.Writer) error {
	if r.Plan.Dialect != "" {
		var err error
		if r.Server.dialect, r.board, err = r.openDialect(ctx); err != nil {
			return err
		}
	}
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
	during, stop := context.WithCancel(context.WithoutCancel(ctx))
	var others sync.WaitGroup
	others.Go(func() { r.watchBacklog(during) })
	faults := newFaults(r.Faults, r.Plan.Schedule.Duration())
	others.Go(func() { faults.run(during, r.Say) })
	if acceptance != nil {
		others.Go(func() { acceptance.during(during) })
	}
	err := r.play(ctx, acceptance)
	stop()
	others.Wait()
	if err != nil {
		return err
	}
	for name, v := range r.tracker.Shares() {
		r.ending.Measured[name] = v
	}
	faults.report(&r.ending)
	if acceptance != nil && !r.ending.Cut {
		r.Say("the load has ended; comparing the ledger, the scores and the ranks with the responses")
		if err := acceptance.after(ctx); err != nil {
			// The load has a report nevertheless; what was not measured fails its criterion.
			r.note("the comparison was aborted: %v", err)
			r.ending.Cut = ctx.Err() != nil
		}
	}
	r.recordSamples()
	if r.early > 0 {
		r.note("seen before the commit, because the database's clock is ahead, and not part of the freshness: %s",
			english.Count(r.early, "increment"))
	}
	r.builder.Ending(r.ending)
	return nil
}

// play sends the load.
func (r *run) play(ctx context.Context, acceptance *acceptance) (err error) {
	tokens := r.tokens()
	if r.Plan.OwnTokens() {
		if tokens, err = r.userTokens(ctx); err != nil {
			return err
		}
	}
	if r.Plan.Dialect != "" {
		if err := r.probeDialect(ctx, r.Server.dialect, tokens[0]); err != nil {
			return err
		}
	}
	if r.Plan.NeedsAction() {
		r.note("the latency of an increment includes the request that starts its action")
	}
	if len(tokens) > 1 && !r.Plan.OwnTokens() {
		r.note("%d tokens were used, because the server limits the updates of each", len(tokens))
	}
	p := &player{
		plan: &r.Plan, requests: r.Plan.Requests(), server: r.Server, tokens: tokens,
		events: r.events, tracker: r.tracker, onHit: r.hit, onAck: func(plan.Event) {}, onSecond: r.second,
	}
	if acceptance != nil {
		p.onAck = acceptance.acked
	}
	r.ending.Lasted, r.ending.Cut, err = p.play(ctx)
	return err
}

// begin writes the header and sets the start of the run.
func (r *run) begin(raw io.Writer) error {
	r.start = time.Now()
	r.events = plan.NewEvents(&r.Plan, r.start)
	requests := r.Plan.Requests()
	h := record.Header{
		Began: r.start, Parameters: r.parameters, Machine: r.Machine, Duration: requests.Duration(),
		Checks: r.checks(), Shard: r.Shard, Prefix: r.prefix,
	}
	if s := r.Scenario; s != nil {
		h.Profile, h.Scaled = s.Name, s.Scaled
	}
	for at := time.Duration(0); at < requests.Duration(); at += time.Second {
		h.Scheduled = append(h.Scheduled, requests.Count(at+time.Second)-requests.Count(at))
	}
	r.builder = report.NewBuilder(h)
	var err error
	r.file, err = record.NewWriter(raw, h)
	return err
}
