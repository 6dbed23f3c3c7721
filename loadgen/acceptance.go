package loadgen

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// acceptance is what a scenario measures before, beside and after the load.
type acceptance struct {
	run    *run
	prober *prober
	pulse  *pulse
	redis  *redis.Client // nil where it is read through the API
	early  chan event    // acknowledged just now, to be looked up at once

	mu     sync.Mutex
	asked  int // events looked up right after their acknowledgement
	there  int
	lastAt time.Time
}

// mostLife is the longest that a development issuer lets a token live.
const mostLife = 24 * time.Hour

// unminted is how many watchers one token's user may have.
const unminted = 5

func newAcceptance(r *run) *acceptance {
	a := &acceptance{run: r, early: make(chan event, 16)}
	a.prober = &prober{
		http: r.web, server: r.Server, user: r.Plan.Prefix + "probe", token: r.Server.Token, expected: map[string]int64{},
	}
	return a
}

// before probes what the server must refuse, and gets the watchers ready.
func (a *acceptance) before(ctx context.Context) error {
	r := a.run
	if err := a.reach(ctx); err != nil {
		return err
	}
	r.Say("probing what must be refused")
	// Replays first: a token or a key that is wrong shows in its clear words.
	if err := a.prober.replays(ctx, &r.book.replays, &r.book.conflict); err != nil {
		return err
	}
	if err := a.prober.signatures(ctx, &r.book.forged); err != nil {
		return err
	}
	watchers := r.Scenario.Load.Watchers
	if r.Shard.Of > 1 {
		watchers = (watchers + r.Shard.Of - 1) / r.Shard.Of
	}
	if !r.minted {
		for _, name := range []string{"limits.enforced", "me.correct"} {
			r.ending.Skipped[name] = "the server mints no players' tokens for this one"
		}
		watchers = min(watchers, unminted)
	} else if err := a.limits(ctx); err != nil {
		return err
	}
	// A stream ends with its token. What a new connection takes is not what an
	// update takes to arrive, so those of the watchers outlive the run.
	life := min(r.Plan.Pace.Duration()+renewedLife, mostLife)
	var clients []*client.Client
	for i := range watchers {
		tokens := client.TokenSource(r.given)
		if r.minted {
			tokens = r.token(fmt.Sprintf("%swatcher-%d", r.Plan.Prefix, i), "", life.String())
		}
		c, err := r.clientOf(tokens)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	a.pulse = newPulse(r.client, clients, r.Server.URL, r.Shard, r.sample)
	if r.Redis != "" {
		o, err := redis.ParseURL(r.Redis)
		if err != nil {
			return fmt.Errorf("read the URL of Redis: %w", err)
		}
		a.redis = redis.NewClient(o)
		a.pulse.direct = ranking.New(a.redis)
		if err := a.pulse.direct.Ping(ctx); err != nil {
			return fmt.Errorf("reach Redis: %w", err)
		}
	}
	r.ending.Notes = append(r.ending.Notes, a.pulse.clock())
	return nil
}

// close lets go of what before opened.
func (a *acceptance) close() {
	if a.redis != nil {
		_ = a.redis.Close()
	}
}

func (a *acceptance) limits(ctx context.Context) error {
	player := a.run.Plan.Prefix + "player"
	token, err := a.run.token(player, "", "").Token(ctx)
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
			_, err := a.run.client.ReceiptOf(ctx, a.run.Plan.name(e.user), e.id.String())
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
	if a.pulse.lost > 0 {
		r.ending.Notes = append(r.ending.Notes, fmt.Sprintf("watchers had to connect again %d times, as when their tokens end; what they missed meanwhile counts as seen late", a.pulse.lost))
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
	if err := a.recount(ctx, book); err != nil {
		return err
	}
	a.metrics(ctx)
	a.alerts(ctx)
	return nil
}

// recount counts the ranks of every board that was played on; the worst of them
// is the result.
func (a *acceptance) recount(ctx context.Context, book *audit) error {
	r := a.run
	wants := map[string]map[string]int64{"": {}}
	boards := book.boards()
	for user, score := range book.expected() {
		board := boards[user] // those beside the load are on the default
		if wants[board] == nil {
			wants[board] = map[string]int64{}
		}
		wants[board][user] = score
	}
	for board, want := range wants {
		top, me, note, err := recount(ctx, r.client, board, want, a.own())
		if err != nil { // a board that was not counted is not the best of them
			delete(r.ending.Measured, "top.correct")
			delete(r.ending.Measured, "me.correct")
			return err
		}
		r.ending.Measured.Worst("top.correct", top)
		if r.minted {
			r.ending.Measured.Worst("me.correct", me)
		}
		r.ending.Notes = append(r.ending.Notes, note)
	}
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
		return a.run.clientOf(client.StaticToken(t.Token))
	}
}
