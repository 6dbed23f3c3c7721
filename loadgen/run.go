package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// Report is what a run came to.
type Report = report.Report

// Options say what is run.
type Options struct {
	Server Server
	Plan   Plan
	// Scenario is what the server is held to; with none a load is played and
	// judged by its errors alone.
	Scenario *criteria.Scenario
	Ops      string // where the server shows its metrics, for a scenario
	Out      string // the folder of raw.zst, report.json and report.html; none is written where it is empty
	Machine  record.Machine
	Say      func(format string, args ...any) // is told how it goes, a line a second
	Settle   time.Duration                    // how long after the load a score may take to appear; 15 s when 0
}

// plain are the criteria of a load without a scenario.
var plain = []record.Check{
	{Text: "samples > 0", Source: "a run without samples proves nothing"},
	{Text: "errors < 1%", Source: "specification A, acceptance criteria"},
	{Text: "behind <= 1%", Source: "a generator that falls behind measures itself"},
}

// RawFile is the name of the record in the folder of a run.
const RawFile = "raw.zst"

// Parameters are what a run is made of, by name.
func (o *Options) Parameters() map[string]any {
	p := &o.Plan
	m := map[string]any{
		"server": o.Server.URL, "rate": p.Pace.String(), "seconds": p.Pace.Duration().Seconds(), "users": p.Users, "skew": p.Skew,
		"seed": p.Seed, "mode": string(p.Mode), "reads": p.Reads, "repeats": p.Repeats, "conflicts": p.Conflicts, "forged": p.Forged,
	}
	if p.Mode == Batch {
		m["batch"] = p.Size
	}
	if o.Scenario != nil {
		m["profile"], m["watchers"] = o.Scenario.Name, o.Scenario.Load.Watchers
	}
	return m
}

// run is one run.
type run struct {
	Options
	client *client.Client
	writer string // in whose names the tokens of the load are minted
	minted bool   // the server mints tokens for us
	began  time.Time
	book   *book
	draw   *draw

	mu      sync.Mutex // guards what is recorded, for samples come from many
	file    *record.Writer
	builder *report.Builder
	samples []pending
	outbox  record.Tick

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
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 2 * lookups
	defer transport.CloseIdleConnections()
	web := &http.Client{Transport: transport}
	r := &run{Options: o, book: newBook(&o.Plan), writer: o.Plan.Prefix + "loadgen", ending: record.Ending{Measured: map[string]float64{}}}
	var err error
	if r.client, err = r.clientOf(web, client.StaticToken(o.Server.Token)); err != nil {
		return nil, err
	}
	defer r.client.Close()
	_, err = r.client.MintToken(ctx, client.TokenRequest{UserID: r.writer, Scope: "score:update"})
	r.minted = err == nil
	if err := unreachable(err); err != nil {
		return nil, err
	}
	raw, err := r.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.Close() }() // for the ways out below; a second close does nothing
	if err := r.all(ctx, web, raw); err != nil {
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

// unreachable is an error that says that there is no server; that it does not
// mint tokens is none.
func unreachable(err error) error {
	var e *client.Error
	if err != nil && (!errors.As(err, &e) || e.Status == 0) {
		return err
	}
	return nil
}

func (r *run) clientOf(web *http.Client, tokens client.TokenSource) (*client.Client, error) {
	return client.New(r.Server.URL, client.Options{
		TokenSource: tokens, KeyID: r.Server.KeyID, KeySecret: r.Server.KeySecret, HTTP: web, UserAgent: "scoreboard-loadgen",
	})
}

// token is a user's own, renewed before it ends.
func (r *run) token(user, scope string) client.TokenSource {
	return client.Renewing(func(ctx context.Context) (string, time.Time, error) {
		t, err := r.client.MintToken(ctx, client.TokenRequest{UserID: user, Scope: scope})
		return t.Token, t.ExpiresAt, err
	})
}

// perToken is how many writes a second go under one token: half of what a
// server may do.
const perToken = 5000

// tokens are those of the load, for the limit on a server's updates is by
// token's user.
func (r *run) tokens() []client.TokenSource {
	if !r.minted {
		return []client.TokenSource{client.StaticToken(r.Server.Token)}
	}
	var tokens []client.TokenSource
	for i := range int(math.Ceil(r.Plan.requests().Mean() / perToken)) {
		tokens = append(tokens, r.token(fmt.Sprintf("%s-%d", r.writer, i), "score:update"))
	}
	return tokens
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
func (r *run) all(ctx context.Context, web *http.Client, raw io.Writer) error {
	var acceptance *acceptance
	if r.Scenario != nil {
		acceptance = newAcceptance(r, web)
		if err := acceptance.before(ctx); err != nil {
			return err
		}
	}
	if err := r.begin(raw); err != nil {
		return err
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	var others sync.WaitGroup
	if r.minted { // the outbox is the operators'
		others.Go(func() { r.watchOutbox(beside) })
	}
	if acceptance != nil {
		others.Go(func() { acceptance.beside(beside) })
	}
	p := &player{
		plan: &r.Plan, due: r.Plan.requests(), server: r.Server, tokens: r.tokens(),
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
	if acceptance != nil && !r.ending.Cut {
		r.Say("the load has ended; comparing the ledger, the scores and the ranks with what was answered")
		if err := acceptance.after(ctx); err != nil {
			return err
		}
	}
	r.place()
	r.builder.Ending(r.ending)
	return nil
}

// begin writes the header, at the moment from which all is counted.
func (r *run) begin(raw io.Writer) error {
	r.began = time.Now()
	r.draw = newDraw(&r.Plan, r.began)
	due := r.Plan.requests()
	h := record.Header{
		Began: r.began, Parameters: r.Parameters(), Machine: r.Machine, Duration: due.Duration(), Checks: plain,
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

func (r *run) hit(h record.Hit) {
	r.builder.Hit(h)
	r.file.Hit(h)
}

// sample keeps a sample until it can be recorded; the pulse has many hands.
func (r *run) sample(where string, at time.Time, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, pending{where, at, took})
}

// place records the samples that came.
func (r *run) place() {
	r.mu.Lock()
	samples := r.samples
	r.samples = nil
	r.mu.Unlock()
	for _, p := range samples {
		s := toSample(p.where, r.began, p.at, p.took)
		r.builder.Sample(s)
		r.file.Sample(s)
	}
}

// every records how the server is and says how it goes.
func (r *run) every(elapsed time.Duration) error {
	r.place()
	r.mu.Lock()
	tick := r.outbox
	r.mu.Unlock()
	tick.At = elapsed
	r.builder.Tick(tick)
	r.file.Tick(tick)
	now := r.builder.Now()
	r.Say("%6.0f s  %d due, %d answered, %d failed, p95 %.1f ms from when due, outbox %d, freshness p95 %.0f ms",
		elapsed.Seconds(), r.Plan.requests().Expected(elapsed), now.Sent, now.Failed, now.P95, tick.OutboxDepth, now.Freshness)
	return r.file.Err()
}

// watchOutbox asks once a second what waits to be published.
func (r *run) watchOutbox(ctx context.Context) {
	for pause(ctx, time.Second) {
		o, err := r.client.Outbox(ctx)
		if err != nil {
			continue
		}
		r.mu.Lock()
		r.outbox = record.Tick{}
		for _, shard := range o.Shards {
			r.outbox.OutboxDepth += shard.Depth
			r.outbox.OldestMS = max(r.outbox.OldestMS, shard.OldestAgeMS)
		}
		r.mu.Unlock()
	}
}
