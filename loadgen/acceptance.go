package loadgen

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/redisurl"
	"github.com/scoreboard/scoreboard/loadgen/codec"
	"github.com/scoreboard/scoreboard/loadgen/freshness"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/verify"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// acceptance measures the criteria of a scenario that the load itself does not:
// before, during and after the load.
type acceptance struct {
	run     *run
	prober  *prober
	dialect *dialectAPI // nil for the native API
	monitor *freshness.Monitor
	redis   redis.UniversalClient // nil to read through the API
	// redisBefore are the server's calls to Redis before the load; nil: not known.
	redisBefore buckets
	acks        chan plan.Event // recent acknowledgements, to be looked up immediately
	lastAck     time.Time
	scraped     string // the metrics before the load

	mu       sync.Mutex
	lookedUp int // events immediately after their acknowledgement
	recorded int // of them
}

const (
	// maxTokenLifetime is the longest lifetime of a token from a development issuer.
	maxTokenLifetime = 24 * time.Hour
	// maxSharedWatchers is how many watchers the user of one token may have.
	maxSharedWatchers = 5
	// ackInterval is the interval of lookups immediately after an acknowledgement,
	// and ackWorkers their concurrency.
	ackInterval = 50 * time.Millisecond
	ackWorkers  = 4
)

func newAcceptance(r *run) *acceptance {
	return &acceptance{run: r, acks: make(chan plan.Event, 16), prober: &prober{
		http:     r.web,
		server:   r.Server,
		user:     r.Plan.Prefix + "probe",
		token:    r.Server.Token,
		expected: map[string]int64{},
	}}
}

// before probes what the server must reject, and prepares the freshness monitor.
func (a *acceptance) before(ctx context.Context) error {
	r := a.run
	if err := a.checkAddresses(ctx); err != nil {
		return err
	}
	r.Say("probing requests that must be rejected")
	if err := a.probe(ctx); err != nil {
		return err
	}
	watchers := r.Scenario.Load.Watchers
	if r.Shard.Of > 1 {
		watchers = (watchers + r.Shard.Of - 1) / r.Shard.Of
	}
	if !r.mints {
		for _, name := range []string{"limits.enforced", "me.correct"} {
			r.ending.Skipped[name] = "the server does not issue player tokens to this token"
		}
		watchers = min(watchers, maxSharedWatchers)
	} else if err := a.limits(ctx); err != nil {
		return err
	}
	o := freshness.Options{
		Watchers: watchers, Server: r.Server.URL, Shard: r.Shard, Sample: r.sample,
	}
	if a.dialect != nil && r.Plan.Dialect != plan.Module { // module has the native stream
		o.API = a.dialect
	} else {
		clients, err := a.watchers(watchers)
		if err != nil {
			return err
		}
		o.API = &freshness.Native{Client: r.client, Board: r.board, Watchers: clients}
	}
	if r.Redis != "" {
		options, err := redisurl.Parse(r.Redis)
		if err != nil {
			return fmt.Errorf("--redis: %w", err)
		}
		a.redis = options.Open()
		o.Redis = ranking.New(a.redis)
		if err := o.Redis.Ping(ctx); err != nil {
			return fmt.Errorf("connect to Redis: %w", err)
		}
		top, err := r.client.Top(ctx, client.TopQuery{Board: r.board, Limit: 1})
		if err != nil {
			return err
		}
		o.Board = scoreboard.BoardID(top.Board)
	}
	a.monitor = freshness.NewMonitor(o)
	r.note("%s", a.monitor.Method())
	a.redisBefore = a.countRedis(ctx)
	return nil
}

// probe sends what the server must reject or count once.
func (a *acceptance) probe(ctx context.Context) (err error) {
	// Replays come first: their errors name a wrong token or key.
	t := a.run.tracker
	if a.run.Plan.Dialect == "" {
		if err := a.prober.replays(ctx, &t.Replays, &t.Conflicts); err != nil {
			return err
		}
		return a.prober.signatures(ctx, &t.Forged)
	}
	a.dialect = newDialectAPI(a.run)
	if a.prober.token, err = a.dialect.tokenOf(ctx, a.prober.user); err != nil {
		return err
	}
	p := &dialectProber{a.prober, a.dialect}
	if err := p.replays(ctx, &t.Replays, &t.Conflicts); err != nil {
		return err
	}
	return p.credentials(ctx, &t.Forged)
}

// watchers returns n clients for the monitor. A stream ends with its token, and a
// reconnect is not part of the freshness, so their tokens outlive the run.
func (a *acceptance) watchers(n int) ([]*client.Client, error) {
	r := a.run
	lifetime := min(r.Plan.Schedule.Duration()+renewedLifetime, maxTokenLifetime)
	var clients []*client.Client
	for i := range n {
		tokens := client.TokenSource(r.given)
		if r.mints {
			tokens = r.token(fmt.Sprintf("%swatcher-%d", r.Plan.Prefix, i), "", lifetime.String())
		}
		c, err := r.clientWith(tokens)
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

// close closes the connection to Redis.
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
	limits := a.prober.limits
	if a.dialect != nil {
		limits = (&dialectProber{a.prober, a.dialect}).limits
	}
	enforced, err := limits(ctx, player, token)
	a.run.ending.Measured["limits.enforced"] = 0
	if enforced {
		a.run.ending.Measured["limits.enforced"] = 100
	}
	return err
}

// during runs until ctx ends.
func (a *acceptance) during(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { a.monitor.Run(ctx) })
	for range ackWorkers {
		all.Go(func() { a.lookUpAcks(ctx) })
	}
	all.Wait()
}

// acked queues some acknowledged events for an immediate lookup, which detects a
// server that acknowledges events before it records them.
func (a *acceptance) acked(e plan.Event) {
	if now := time.Now(); now.Sub(a.lastAck) >= ackInterval {
		select {
		case a.acks <- e:
			a.lastAck = now
		default:
		}
	}
}

func (a *acceptance) lookUpAcks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-a.acks:
			_, err := a.run.client.ReceiptOf(ctx, a.run.Plan.UserID(e.User), codec.EventID(&a.run.Plan, &e))
			missing := wire.CodeOf(err) == wire.CodeNotFound
			if err != nil && !missing {
				continue // no result
			}
			a.mu.Lock()
			a.lookedUp++
			if !missing {
				a.recorded++
			}
			a.mu.Unlock()
		}
	}
}

// after compares the server with the outcomes of the load.
func (a *acceptance) after(ctx context.Context) error {
	r := a.run
	a.measureRedis(ctx) // before the comparison calls Redis, too
	if a.lookedUp > 0 {
		r.ending.Measured["acks.recorded"] = 100 * float64(a.recorded) / float64(a.lookedUp)
	}
	extras := a.prober.expected
	for user, score := range a.monitor.Expected() {
		extras[user] = score
	}
	r.ending.Notes = append(r.ending.Notes, a.monitor.Notes()...)
	v := &verify.Verifier{
		Client: r.client, Plan: &r.Plan, Events: r.events, Tracker: r.tracker, Extras: extras,
		Board: r.board, ProbeUser: a.prober.user, RejectedProbes: a.prober.rejected,
		Settle: r.Settle, Measured: r.ending.Measured,
	}
	place := a.place()
	if a.dialect != nil && r.Plan.Dialect != plan.Module { // module has no reads
		v.Shown = a.dialect.shown
		place = func(ctx context.Context, _, user string) (client.Place, error) { return a.dialect.place(ctx, user) }
	}
	err := v.Run(ctx)
	if err == nil {
		err = v.Ranks(ctx, place)
	}
	r.ending.Notes = append(r.ending.Notes, v.Notes...)
	if err != nil {
		return err
	}
	a.metrics(ctx)
	a.alerts(ctx)
	return nil
}

// place returns how users' standings are read with their own tokens, or nil if the
// server does not mint tokens.
func (a *acceptance) place() verify.PlaceOf {
	if !a.run.mints {
		return nil
	}
	return func(ctx context.Context, board, user string) (client.Place, error) {
		t, err := a.run.client.MintToken(ctx, client.TokenRequest{UserID: user})
		if err != nil {
			return client.Place{}, err
		}
		c, err := a.run.clientWith(client.StaticToken(t.Token))
		if err != nil {
			return client.Place{}, err
		}
		defer c.Close()
		return c.Me(ctx, client.PlaceQuery{Board: board})
	}
}
