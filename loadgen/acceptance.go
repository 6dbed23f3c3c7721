package loadgen

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// acceptance is what a scenario measures before, beside and after the load.
type acceptance struct {
	run    *run
	web    *http.Client
	prober *prober
	pulse  *pulse
	early  chan event // acknowledged just now, to be looked up at once

	mu     sync.Mutex
	asked  int // events looked up right after their acknowledgement
	there  int
	lastAt time.Time
}

// unminted is how many watchers one token's user may have.
const unminted = 5

func newAcceptance(r *run, web *http.Client) *acceptance {
	a := &acceptance{run: r, web: web, early: make(chan event, 16)}
	a.prober = &prober{
		http: web, server: r.Server, user: r.Plan.Prefix + "probe", token: r.Server.Token, expected: map[string]int64{},
	}
	return a
}

// before probes what the server must refuse, and gets the watchers ready.
func (a *acceptance) before(ctx context.Context) error {
	r := a.run
	r.Say("probing what must be refused")
	// Replays first: a token or a key that is wrong shows in its clear words.
	if err := a.prober.replays(ctx, &r.book.replays, &r.book.conflict); err != nil {
		return err
	}
	if err := a.prober.signatures(ctx, &r.book.forged); err != nil {
		return err
	}
	watchers := r.Scenario.Load.Watchers
	if !r.minted {
		r.ending.Notes = append(r.ending.Notes, "the server mints no tokens for this one: limits and /me were not measured")
		watchers = min(watchers, unminted)
	} else if err := a.limits(ctx); err != nil {
		return err
	}
	var clients []*client.Client
	for i := range watchers {
		tokens := client.TokenSource(client.StaticToken(r.Server.Token))
		if r.minted {
			tokens = r.token(fmt.Sprintf("%swatcher-%d", r.Plan.Prefix, i), "")
		}
		c, err := r.clientOf(a.web, tokens)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	a.pulse = newPulse(r.client, clients, r.Server.URL, r.Plan.Prefix, r.sample)
	r.ending.Notes = append(r.ending.Notes, a.pulse.clock())
	return nil
}

func (a *acceptance) limits(ctx context.Context) error {
	player := a.run.Plan.Prefix + "player"
	token, err := a.run.token(player, "").Token(ctx)
	if err != nil {
		return err
	}
	enforced, err := a.prober.limits(ctx, player, token)
	a.run.ending.Measured["limits.enforced"] = 0
	if enforced {
		a.run.ending.Measured["limits.enforced"] = 100
	}
	return err
}

// beside runs during the load.
func (a *acceptance) beside(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { a.pulse.run(ctx) })
	for range 4 {
		all.Go(func() { a.lookEarly(ctx) })
	}
	all.Wait()
}

// earlyEvery is how often an event is looked up right after its
// acknowledgement.
const earlyEvery = 50 * time.Millisecond

// acked hands some of the events that were acknowledged to those who look them
// up at once. A server that acknowledges before it has recorded is found out.
func (a *acceptance) acked(e event) {
	if now := time.Now(); now.Sub(a.lastAt) >= earlyEvery {
		select {
		case a.early <- e:
			a.lastAt = now
		default:
		}
	}
}

func (a *acceptance) lookEarly(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-a.early:
			_, err := a.run.client.EventOf(ctx, a.run.Plan.name(e.user), e.id.String())
			missing := scoreboard.CodeOf(err) == scoreboard.CodeNotFound
			if err != nil && !missing {
				continue // tells nothing
			}
			a.mu.Lock()
			a.asked++
			if !missing {
				a.there++
			}
			a.mu.Unlock()
		}
	}
}

// after holds the book against the server.
func (a *acceptance) after(ctx context.Context) error {
	r := a.run
	m := r.ending.Measured
	if a.asked > 0 {
		m["acks.recorded"] = 100 * float64(a.there) / float64(a.asked)
	}
	extras := a.prober.expected
	for user, score := range a.pulse.expected {
		if !a.pulse.unsure[user] {
			extras[user] = score
		}
	}
	if a.pulse.blind > 0 {
		r.ending.Notes = append(r.ending.Notes, fmt.Sprintf("%d of %d watchers saw no frame in %v", a.pulse.blind, len(a.pulse.watchers), readyWithin))
	}
	if a.pulse.failures > 0 {
		r.ending.Notes = append(r.ending.Notes, fmt.Sprintf("%d steps of the pulse failed, the last because: %v", a.pulse.failures, a.pulse.last))
	}
	book := &audit{
		client: r.client, plan: &r.Plan, draw: r.draw, book: r.book, extras: extras,
		prober: a.prober.user, absent: a.prober.refused, settle: r.Settle, measured: m,
	}
	err := book.run(ctx)
	r.ending.Notes = append(r.ending.Notes, book.notes...)
	if err != nil {
		return err
	}
	top, me, note, err := recount(ctx, r.client, book.expected(), a.own())
	if err != nil {
		return err
	}
	m["top.correct"] = top
	if r.minted {
		m["me.correct"] = me
	}
	r.ending.Notes = append(r.ending.Notes, note)
	a.metrics(ctx)
	return nil
}

// own gives a client of a user, nil where the server mints no tokens.
func (a *acceptance) own() func(context.Context, string) (*client.Client, error) {
	if !a.run.minted {
		return nil
	}
	return func(ctx context.Context, user string) (*client.Client, error) {
		t, err := a.run.client.MintToken(ctx, client.TokenRequest{UserID: user})
		if err != nil {
			return nil, err
		}
		return a.run.clientOf(a.web, client.StaticToken(t.Token))
	}
}

// families are the metrics that specification A asks for: rates and latencies,
// and the lag of each stage.
var families = []string{"scoreboard_api_request_seconds", "scoreboard_outbox_lag_seconds", "scoreboard_projection_lag_seconds"}

// metrics looks for them where the server shows its metrics.
func (a *acceptance) metrics(ctx context.Context) {
	text, err := a.scrape(ctx)
	if err != nil {
		a.run.ending.Notes = append(a.run.ending.Notes, "no metrics: "+err.Error())
		return
	}
	found := 0
	for _, f := range families {
		if strings.Contains(text, "# TYPE "+f+" ") {
			found++
		} else {
			a.run.ending.Notes = append(a.run.ending.Notes, "there is no metric "+f)
		}
	}
	a.run.ending.Measured["metrics.found"] = 100 * float64(found) / float64(len(families))
}

func (a *acceptance) scrape(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(a.run.Ops, "/")+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	res, err := a.web.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", a.run.Ops, res.Status)
	}
	return string(b), err
}
