package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// witness generates load and records the responses.
type witness struct {
	t     *testing.T
	c     *client.Client
	phase atomic.Pointer[string]

	mu    sync.Mutex
	sums  map[string]int64 // acknowledged points
	reads map[string]*saw  // by phase
}

// saw is what the responses of a phase were.
type saw struct {
	reads, writes, refused int
	reasons                map[string]int // of degraded reads, "" for others
	wrong                  []string
	slowest                time.Duration // rejection of a write
}

const outageUsers = 8

func (w *witness) enter(phase string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads[phase] = &saw{reasons: map[string]int{}}
	w.phase.Store(&phase)
}

// in counts a response in the phase of its request, unless that phase has ended: a
// response that spans a change belongs to neither phase.
func (w *witness) in(phase *string, do func(s *saw)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase.Load() == phase {
		do(w.reads[*phase])
	}
}

func (w *witness) wrong(phase *string, format string, args ...any) {
	w.in(phase, func(s *saw) { s.wrong = append(s.wrong, fmt.Sprintf(format, args...)) })
}

// write submits increments one by one. It repeats a rejected one with the same id
// until it is acknowledged or ctx ends.
func (w *witness) write(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		in := client.Increment{User: fmt.Sprint("u", n%outageUsers), Delta: 1, EventID: fmt.Sprint("e", n)}
		for {
			phase, began := w.phase.Load(), time.Now()
			receipt, err := w.c.Submit(context.WithoutCancel(ctx), in)
			if err == nil {
				w.mu.Lock()
				w.sums[in.User]++
				if receipt.NewScore != w.sums[in.User] {
					w.t.Errorf("the receipt of %s has %d, acknowledged were %d", in.User, receipt.NewScore,
						w.sums[in.User])
				}
				w.mu.Unlock()
				w.in(phase, func(s *saw) { s.writes++ })
				break
			}
			var refused *client.Error
			if !errors.As(err, &refused) || refused.Status != 503 || refused.RetryAfter <= 0 {
				w.wrong(phase, "a write: %v", err)
			}
			w.in(phase, func(s *saw) {
				s.refused++
				s.slowest = max(s.slowest, time.Since(began))
			})
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// read calls every kind of read.
func (w *witness) read(ctx context.Context) {
	users := make([]string, outageUsers)
	for i := range users {
		users[i] = fmt.Sprint("u", i)
	}
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		phase := w.phase.Load()
		count := func(what, reason string, rows int, versioned bool, err error) {
			if err != nil || rows != outageUsers || versioned == (reason != "") {
				w.wrong(phase, "%s: %d rows, degraded %q, versioned %t, %v", what, rows, reason, versioned, err)
				return
			}
			w.in(phase, func(s *saw) { s.reads, s.reasons[reason] = s.reads+1, s.reasons[reason]+1 })
		}
		ctx := context.WithoutCancel(ctx)
		top, err := w.c.Top(ctx, client.TopQuery{})
		count("top", top.DegradedReason, len(top.Entries), top.Version != nil, err)
		place, err := w.c.Around(ctx, "u4", client.PlaceQuery{Neighbours: outageUsers})
		count("rank", place.DegradedReason, len(place.Neighbours), place.Version != nil, err)
		list, err := w.c.Users(ctx, "", users)
		count("list", list.DegradedReason, len(list.Entries), list.Version != nil, err)
	}
}

// until waits until reads of the phase were degraded by a reason, and then for more
// responses, which could have another one.
func (w *witness) until(reason string) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("reads to be degraded by %q", reason), func() error {
		phase := w.phase.Load()
		var err error
		w.in(phase, func(s *saw) {
			if s.reasons[reason] < 30 {
				err = fmt.Errorf("phase %s: %+v", *phase, *s)
			}
		})
		return err
	})
}

// Under load Redis is flushed, stopped and started, and PostgreSQL is stopped and
// started. Every read is answered, with every user, and marked if it is degraded. No
// acknowledged write is lost.
func TestReadsDuringOutages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	postgres := backends.OwnPostgres(t, migrations.Up)
	h.postgres = postgres.URL
	h.env = append(h.env, "SCOREBOARD_POSTGRES_URL="+postgres.URL)
	d := h.start()
	game := h.clientWith(d, "game", client.Options{Token: h.token("game", auth.ScopeUpdate), Attempts: 1})
	w := &witness{t: t, c: game, sums: map[string]int64{}, reads: map[string]*saw{}}
	w.enter("start")
	ctx, stop := context.WithCancel(context.Background())
	var playing sync.WaitGroup
	playing.Go(func() { w.write(ctx) })
	eventually(t, "all users to be ranked", topIs(game, func(top client.Top) error {
		if len(top.Entries) != outageUsers {
			return fmt.Errorf("%d users are", len(top.Entries))
		}
		return nil
	}))
	db := backends.Connect(t, h.postgres)
	eventually(t, "all users in the standings, which answer without Redis", func() error {
		if n := db.Count(t, `select count(*) from standings`); n != outageUsers {
			return fmt.Errorf("%d users are", n)
		}
		return nil
	})
	w.enter("healthy")
	playing.Go(func() { w.read(ctx) })
	w.until("")

	ctxTop, cancel := contextFor(time.Minute)
	defer cancel()
	before, err := game.Top(ctxTop, client.TopQuery{})
	if err != nil {
		t.Fatal(err)
	}
	w.enter("flushed")
	flush(t, h)
	eventually(t, "the board to be rebuilt", topIs(game, func(top client.Top) error {
		if top.Epoch == nil || *top.Epoch <= *before.Epoch {
			return fmt.Errorf("got %+v", top)
		}
		return nil
	}))
	w.until("")

	reader := h.start("--roles", "read")
	ready := func(what string) {
		t.Helper()
		alone, _ := ask(t, reader.ops+"/readyz", "")
		whole, _ := ask(t, d.ops+"/readyz", "")
		if alone != 200 || whole != 200 {
			t.Errorf("without %s /readyz of a reader is %d, of a writer %d, want 200", what, alone, whole)
		}
	}
	w.enter("redis away")
	h.redis.Stop()
	w.until("ranking_unavailable")
	ready("Redis")
	w.enter("redis back")
	h.redis.Start()
	w.until("")

	w.enter("postgres away")
	postgres.Stop()
	w.until("store_unavailable")
	ready("PostgreSQL")
	w.enter("postgres back")
	postgres.Start()
	w.until("")
	stop()
	playing.Wait()

	for phase, s := range w.reads {
		if len(s.wrong) > 0 {
			t.Errorf("%s: %d responses were wrong: %s", phase, len(s.wrong),
				strings.Join(s.wrong[:min(len(s.wrong), 5)], "\n"))
		}
		t.Logf("%s: %d reads %v, %d writes, %d rejected (the slowest in %s)", phase, s.reads, s.reasons, s.writes,
			s.refused, s.slowest)
	}
	if s := w.reads["redis away"]; s.writes == 0 || s.refused > 0 {
		t.Errorf("without Redis: %d writes, %d rejected", s.writes, s.refused)
	}
	if s := w.reads["postgres away"]; s.refused == 0 || s.slowest > 3*time.Second {
		t.Errorf("without PostgreSQL: %d rejected, the slowest in %s", s.refused, s.slowest)
	}
	eventually(t, "the board to show the acknowledged points", topIs(game, func(top client.Top) error {
		for _, e := range top.Entries {
			if e.Score != w.sums[e.UserID] {
				return fmt.Errorf("%s has %d, acknowledged were %d", e.UserID, e.Score, w.sums[e.UserID])
			}
		}
		return nil
	}))
}
