package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// seasons are those of a board, oldest first.
type seasons struct {
	*site
	players *players
	family  string        // the board
	users   []string      // who submit to it
	every   time.Duration // how long a season lasts at least; at most three times as long

	mu  sync.Mutex
	all []season
}

// season began between the first request for it and the answer.
type season struct {
	board string // the instance's name
	begin span
}

func seasonName(n int) string { return fmt.Sprintf("s%d", n) }

// add notes a season, begun in a span of time.
func (r *seasons) add(begin span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, season{r.family + ":" + seasonName(len(r.all)), begin})
}

// next is the name of the season that is not begun yet.
func (r *seasons) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return seasonName(len(r.all))
}

// current is the instance that takes writes.
func (r *seasons) current() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1].board
}

// of is the instance that an event is recorded in; the newest if in none.
func (r *seasons) of(e *contract.Event, all rows) string {
	if len(e.Receipts) > 0 {
		return e.Receipts[0].Board
	}
	for board, list := range all[e.UserID] {
		if strings.HasPrefix(board, r.family+":") &&
			slices.ContainsFunc(list, func(row contract.Row) bool { return row.EventID == e.EventID }) {
			return board
		}
	}
	return r.current()
}

// usersOf are the users of a board.
func usersOf(prefix string, count int) []string {
	users := make([]string, count)
	for i := range users {
		users[i] = fmt.Sprintf("%s%02d", prefix, i)
	}
	return users
}

// familyOf is the family of an instance, or a board without periods itself.
func familyOf(board string) string {
	family, _, _ := strings.Cut(board, ":")
	return family
}

// roller begins a new season every few seconds until ctx ends.
func (r *seasons) roller(ctx context.Context, rng *rand.Rand) {
	for {
		if pause(ctx, r.every+time.Duration(rng.Int64N(2*int64(r.every)))); ctx.Err() != nil {
			return
		}
		name := r.next()
		begin := span{from: r.log.Now()}
		r.log.Note("", "operator: begin season %s of %s", name, r.family)
		// The first request may have begun it without an answer: then it is a conflict.
		status := r.change(ctx, rng, "/v1/boards/"+r.family+"/roll", seasonBody(name), nil)
		if status != http.StatusOK && status != http.StatusConflict {
			r.log.Violate("availability", "", "season %s of %s could not begin: status %d", name, r.family,
				status)
			return
		}
		begin.to = r.log.Now()
		r.log.Note("", "operator: season %s of %s has begun (%d)", name, r.family, status)
		r.add(begin)
	}
}

func seasonBody(name string) map[string]any {
	return map[string]any{"season": name, "ends_at": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)}
}

// writer submits increments of the board's users.
func (r *seasons) writer(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		e := r.log.Begin(contract.Increment{
			UserID: r.users[rng.IntN(len(r.users))], Delta: 1 + rng.Int64N(50), EventID: uuid(rng), Board: r.family,
			Subscore: r.subscoreOf(rng),
		}, false)
		r.players.settle(ctx, rng, e)
		pause(ctx, time.Duration(rng.IntN(2*r.o.pauseMS+1))*time.Millisecond)
	}
}

// subscoreOf draws a subscore; nil on a board without.
func (r *seasons) subscoreOf(rng *rand.Rand) *int64 {
	if !r.hasSubscores(r.family) {
		return nil
	}
	return r.subscore(rng)
}

// checkSeasons: an event is in one season only, the one of the time in which it was
// sent, and final standings are the ledger's. Where PostgreSQL's clock was wrong, only
// the first can be required.
func (r *seasons) checkSeasons(ctx context.Context, rng *rand.Rand, all rows) {
	s := r
	found := make(map[string][]string) // the seasons of an event
	for _, byBoard := range all {
		for board, list := range byBoard {
			for _, row := range list {
				if strings.HasPrefix(board, r.family+":") {
					found[row.EventID] = append(found[row.EventID], board)
				}
			}
		}
	}
	for _, e := range r.log.Events() {
		if e.Board != r.family || e.Receipts == nil {
			continue
		}
		if n := len(found[e.EventID]); n > 1 {
			r.log.Violate("counted twice", e.UserID, "event %s is in the seasons %v", e.EventID, found[e.EventID])
		}
		if r.storeClock.Load() {
			continue
		}
		in := e.Receipts[0].Board
		i := slices.IndexFunc(s.all, func(one season) bool { return one.board == in })
		switch {
		case i < 0:
			r.log.Violate("season", e.UserID, "event %s is in %s, which was never begun", e.EventID, in)
		case e.Returned < s.all[i].begin.from:
			r.log.Violate("season", e.UserID, "event %s was answered at %s and is in %s, begun after %s",
				e.EventID, e.Returned, in, s.all[i].begin.from)
		case i+1 < len(s.all) && e.Invoked > s.all[i+1].begin.to:
			r.log.Violate("season", e.UserID, "event %s was sent at %s and is in %s, which had ended before %s",
				e.EventID, e.Invoked, in, s.all[i+1].begin.to)
		}
	}
	if r.storeClock.Load() {
		return
	}
	for _, one := range s.all[:len(s.all)-1] {
		if problem := r.compareFinal(ctx, rng, one.board, standings(one.board, all)); problem != "" {
			r.log.Violate("final standings", "", "%s: %s", one.board, problem)
		}
	}
}

// compareFinal waits for the final standings of a season and compares them.
func (r *seasons) compareFinal(ctx context.Context, rng *rand.Rand, board string, want []standing) (problem string) {
	type final struct {
		ClosedAt *time.Time       `json:"closed_at"`
		Entries  []contract.Entry `json:"entries"`
		Next     int64            `json:"next_after"`
	}
	deadline := time.Now().Add(convergeTime)
	var got []contract.Entry
	for after := int64(0); ; {
		var page final
		callCtx, cancel := context.WithTimeout(ctx, attemptTime)
		path := fmt.Sprintf("/v1/boards/%s/standings?limit=100&after=%d", board, after)
		status, err := r.server.Call(callCtx, r.node(rng, "api").URL(), http.MethodGet, path, nil, &page)
		cancel()
		if err != nil || status != http.StatusOK || page.ClosedAt == nil {
			if time.Now().After(deadline) || ctx.Err() != nil {
				return fmt.Sprintf("no final standings %s after the faults: status %d, %v", convergeTime, status, err)
			}
			time.Sleep(200 * time.Millisecond)
			continue
		}
		got = append(got, page.Entries...)
		if after = page.Next; after == 0 {
			break
		}
	}
	for i := range max(len(got), len(want)) {
		var g contract.Entry
		var w standing
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g.UserID != w.user || pairOf(g) != w.pair || g.Rank != int64(i)+1 {
			return fmt.Sprintf("place %d of %d is %+v, the ledger has %s with %v (%d users)",
				i+1, len(got), g, cmp.Or(w.user, "nobody"), w.pair, len(want))
		}
	}
	return ""
}
