package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// league has seasons.
const league = "league"

// tokenTTL is the longest that the server accepts.
const tokenTTL = 24 * time.Hour

// The players' clients.
const (
	writers = 8
	viewers = 4
)

// players write and watch, and know what their scores must be.
type players struct {
	o       options
	http    *http.Client
	token   string
	urls    []string
	key     client.Key
	clients atomic.Pointer[[]*client.Client] // one for each node, with the newest key
	admin   *client.Client                   // of the node that is rarely restarted; repeats what failed

	answered, frames atomic.Int64
	mu               sync.Mutex
	want             map[string]int64 // scores on the board global
	old              []*client.Client // with earlier keys: requests may still use them
}

func (s *run) newPlayers(ctx context.Context) (*players, error) {
	transport := &http.Transport{
		TLSClientConfig: s.certs.config(), ForceAttemptHTTP2: true, MaxIdleConnsPerHost: writers,
	}
	p := &players{o: s.o, http: client.NewHTTP(transport), want: make(map[string]int64)}
	for _, n := range s.nodes.Nodes {
		p.urls = append(p.urls, strings.Replace(n.URL(), "http://", "https://", 1))
	}
	var err error
	p.token, err = contract.Token(cluster.JWTSecret, "soak", auth.ScopeAdmin+" "+auth.ScopeUpdate, tokenTTL)
	if err != nil {
		return nil, err
	}
	if p.admin, err = client.New(p.urls[0], client.Options{Token: p.token, HTTP: p.http}); err != nil {
		return nil, err
	}
	if p.key, err = p.admin.CreateKey(ctx, client.KeyRequest{Name: "soak"}); err != nil {
		return nil, err
	}
	if err := p.connect(); err != nil {
		return nil, err
	}
	ends := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	_, err = p.admin.CreateBoard(ctx, client.BoardRequest{
		Board: league, Period: "season", Season: "s0", EndsAt: &ends,
	})
	return p, err
}

// connect makes a client for each node, with the current key.
func (p *players) connect() error {
	var all []*client.Client
	for _, url := range p.urls {
		c, err := client.New(url, client.Options{
			Token: p.token, KeyID: p.key.KeyID, KeySecret: p.key.Secret, HTTP: p.http, Attempts: 1,
		})
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	if before := p.clients.Swap(&all); before != nil {
		p.old = append(p.old, *before...)
	}
	return nil
}

func (p *players) close() {
	p.admin.Close()
	for _, c := range append(p.old, *p.clients.Load()...) {
		c.Close()
	}
	p.http.CloseIdleConnections()
}

func (p *players) rotateKey(ctx context.Context, _ int) error {
	key, err := p.admin.RotateKey(ctx, p.key.KeyID, time.Minute)
	if err != nil {
		return err
	}
	p.key = key
	return p.connect()
}

// submit repeats an increment until a node has answered it. Once ctx has ended it goes on for a while,
// so that the outcome of what was sent is known.
func (p *players) submit(ctx context.Context, node int, inc client.Increment) error {
	deadline := time.Now().Add(ready)
	for try := 0; ; try++ {
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		_, err := (*p.clients.Load())[(node+try)%len(p.urls)].Submit(one, inc)
		cancel()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("event %s of %s: no answer within %s: %w", inc.EventID, inc.User, ready, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.answered.Add(1)
	if inc.Board == "global" {
		p.mu.Lock()
		p.want[inc.User] += inc.Delta
		p.mu.Unlock()
	}
	return nil
}

// run plays until ctx ends. It returns what was not answered.
func (p *players) run(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		all.Go(func() { errs[i] = p.write(ctx, i) })
	}
	for i := range viewers {
		all.Go(func() { p.watch(ctx, i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// write submits the increments of a writer at its share of the rate, and reads now and then.
func (p *players) write(ctx context.Context, number int) error {
	rng := rand.New(rand.NewPCG(uint64(number), 1))
	every := time.Duration(writers) * time.Second / time.Duration(p.o.rate)
	for next := time.Now(); ; next = next.Add(every) {
		if pauseUntil(ctx, next); ctx.Err() != nil {
			return nil
		}
		inc := client.Increment{
			User: fmt.Sprintf("player-%04d", rng.IntN(p.o.players)), Delta: 1 + rng.Int64N(9),
			EventID: client.NewEventID(), Board: "global",
		}
		if rng.IntN(10) == 0 {
			inc.Board = league
		}
		if err := p.submit(ctx, rng.IntN(len(p.urls)), inc); err != nil {
			return err
		}
		if rng.IntN(5) == 0 { // an error is a node that restarts
			_, _ = (*p.clients.Load())[rng.IntN(len(p.urls))].Top(ctx, client.TopQuery{Limit: 100})
		}
	}
}

// watch opens event streams, one after the other, for some seconds each.
func (p *players) watch(ctx context.Context, number int) {
	for i := number; ctx.Err() == nil; i++ {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		p.stream(one, p.urls[i%len(p.urls)])
		cancel()
		pauseUntil(ctx, time.Now().Add(100*time.Millisecond))
	}
}

func (p *players) stream(ctx context.Context, url string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/realtime/leaderboard", nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Accept", "text/event-stream")
	res, err := p.http.Do(req)
	if err != nil {
		return // a node that restarts
	}
	defer func() { _ = res.Body.Close() }()
	for buffer := make([]byte, 16<<10); ; {
		n, err := res.Body.Read(buffer)
		p.frames.Add(int64(strings.Count(string(buffer[:n]), "leaderboard.updated")))
		if err != nil {
			return
		}
	}
}
