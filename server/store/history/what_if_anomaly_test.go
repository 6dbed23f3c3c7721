package history_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// played is an event on the judged board "b", on "other", or on both.
type played struct {
	user     scoreboard.UserID
	id       scoreboard.EventID
	boards   []scoreboard.BoardID
	delta    int64
	country  string
	at       time.Time
	reversed bool
}

func (p *played) on(board scoreboard.BoardID) bool { return slices.Contains(p.boards, board) }

// players is random events of a few users, who also play on another board and travel.
type players struct {
	t      *testing.T
	s      *store.Store
	rng    *rand.Rand
	board  scoreboard.Board
	events []*played
}

func newPlayers(t *testing.T, events int) *players {
	t.Helper()
	s, conn := storetest.New(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	conn.Do(t, `insert into boards (board_id, family_id, mode)
values ('b', 'b', 'increment'), ('other', 'other', 'increment')`)
	p := &players{t: t, s: s, rng: rand.New(rand.NewPCG(seed, 0)), board: scoreboard.Board{
		ID: "b", Family: "b", Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest,
		Status: scoreboard.StatusActive, MinDelta: 1, MaxDelta: 1000, MinScore: -scoreboard.MaxScore,
		MaxScore: scoreboard.MaxScore, Created: time.Now().Add(-time.Hour),
	}}
	for range events {
		p.play()
	}
	for range events / 10 {
		e := p.events[p.rng.IntN(len(p.events))]
		if e.reversed {
			continue
		}
		_, _, err := s.Corrections.Reverse(t.Context(), e.user, e.id,
			scoreboard.Reversing{Kind: scoreboard.KindEvent}, because("event.reverse"))
		if err != nil {
			t.Fatal(err)
		}
		e.reversed = true
	}
	return p
}

func (p *players) play() {
	p.t.Helper()
	boards := [][]scoreboard.BoardID{{"b"}, {"b"}, {"b", "other"}, {"other"}}
	e := &played{
		user: scoreboard.UserID(fmt.Sprint("u", p.rng.IntN(6))), id: scoreboard.NewEventID(),
		boards:  boards[p.rng.IntN(len(boards))],
		delta:   []int64{1, 2, 3, 4, 5, 8, 12, 40}[p.rng.IntN(8)],
		country: []string{"", "", "NO", "NO", "NO", "JP"}[p.rng.IntN(6)],
	}
	outcomes, err := p.s.Increments.Record(p.t.Context(), []scoreboard.Increment{{
		User: e.user, Boards: e.boards, Delta: e.delta, Source: scoreboard.SourceAPI, Event: e.id, Country: e.country,
	}})
	if err != nil || outcomes[0].Err != nil {
		p.t.Fatal(err, outcomes[0].Err)
	}
	e.at = outcomes[0].Receipts[0].RecordedAt
	p.events = append(p.events, e)
}

// span is the time between two of a user's events: a window that just reaches from one to the other.
func (p *players) span() time.Duration {
	for {
		last := p.rng.IntN(len(p.events))
		for n := last - 1; n >= max(0, last-60); n-- {
			if p.events[n].user == p.events[last].user && p.rng.IntN(4) == 0 {
				return p.events[last].at.Sub(p.events[n].at)
			}
		}
	}
}

// anomaly decides about an event, given its user's earlier events that count, newest first.
type anomaly func(e *played, past []*played) bool

// recount returns the events of the board that are rejected, in order, and the scores of all
// users who have one.
func (p *players) recount(since time.Time, rejects anomaly) (rejected []*played, scores map[scoreboard.UserID]int64) {
	scores = make(map[scoreboard.UserID]int64)
	events := slices.Clone(p.events)
	slices.SortStableFunc(events, func(a, b *played) int { return strings.Compare(string(a.user), string(b.user)) })
	var past []*played
	for i, e := range events {
		if i > 0 && events[i-1].user != e.user {
			past = nil
		}
		if e.reversed {
			continue
		}
		if e.on("b") && !e.at.Before(since) && rejects(e, past) {
			rejected = append(rejected, e)
			if e.on("other") { // there it counts as it is
				there := *e
				there.boards = []scoreboard.BoardID{"other"}
				past = slices.Insert(past, 0, &there)
			}
			continue
		}
		if e.on("b") {
			scores[e.user] += e.delta
		}
		past = slices.Insert(past, 0, e)
	}
	return rejected, scores
}

// check compares a what-if under one anomaly rule with the recount, and returns how many events
// the rule rejects.
func (p *players) check(name string, rule scoreboard.Anomalies, rejects anomaly) int {
	p.t.Helper()
	for _, mode := range []*scoreboard.AnomalyMode{&rule.Size, &rule.Frequency, &rule.Amount, &rule.Travel} {
		if *mode == "" {
			*mode = scoreboard.AnomalyOff
		}
	}
	since := time.Unix(0, 0)
	if p.rng.IntN(3) > 0 {
		since = p.events[p.rng.IntN(len(p.events)/2)].at
	}
	w := scoreboard.WhatIf{
		Since: since, Rules: scoreboard.WhatIfRules{Anomalies: rule}, Keep: true, Limit: scoreboard.MaxWhatIfChanges,
	}
	got, err := p.s.PastBoards.WhatIf(p.t.Context(), &p.board, &w, func(int64) {})
	if err != nil {
		p.t.Fatal(err)
	}
	rejected, scores := p.recount(since, rejects)
	var ids, want []string
	for _, e := range got.Events {
		ids = append(ids, scoreboard.FormatUUID(e.Event))
		if e.Rule != "anomaly."+name {
			p.t.Errorf("%s rejected an event, want anomaly.%s", e.Rule, name)
		}
	}
	digest := sha256.New()
	for _, e := range rejected {
		want = append(want, scoreboard.FormatUUID(e.id.UUID))
		digest.Write(append([]byte(e.user+"\x00"), e.id.UUID[:]...))
	}
	if !slices.Equal(ids, want) {
		p.t.Fatalf("%+v since %v: got %d events %v\nwant %d %v", rule, since, len(ids), ids, len(want), want)
	}
	sum := hex.EncodeToString(digest.Sum(nil))
	if got.Digest != sum || got.RejectedBy["anomaly."+name] != int64(len(want)) {
		p.t.Errorf("got digest %s and %v, want %s and %d by %s", got.Digest, got.RejectedBy, sum, len(want), name)
	}
	for _, c := range got.Changes {
		if int64(c.NewScore) != scores[c.User] {
			p.t.Errorf("%s has %d points, want %d", c.User, c.NewScore, scores[c.User])
		}
	}
	return len(want)
}

// Each anomaly rule rejects what a naive count over all events in memory finds beyond its
// threshold: also at its very bounds, and over events before the beginning and on other boards.
func TestWhatIfAnomalies(t *testing.T) {
	t.Parallel()
	const rounds = 25
	enforce := scoreboard.AnomalyEnforce
	for name, once := range map[string]func(p *players) int{
		"size": func(p *players) int { // a multiple of the largest of the last 50 on the board
			factor := 2 + p.rng.Int64N(4)
			return p.check("size", scoreboard.Anomalies{Size: enforce, SizeFactor: factor},
				func(e *played, past []*played) bool {
					var largest, samples int64
					for _, o := range past {
						if o.on("b") && samples < 50 {
							largest, samples = max(largest, o.delta), samples+1
						}
					}
					return samples >= 5 && e.delta > largest*factor
				})
		},
		"frequency": func(p *players) int { // so many events on all boards; one on several counts once
			limit, per := 1+p.rng.Int64N(6), p.span()
			return p.check("frequency", scoreboard.Anomalies{
				Frequency: enforce, MaxEvents: scoreboard.Quota{N: limit, Per: per},
			}, func(e *played, past []*played) bool {
				n := int64(0)
				for _, o := range past {
					if e.at.Sub(o.at) < per {
						n++
					}
				}
				return n >= limit
			})
		},
		"amount": func(p *players) int { // so many points on the board, the event's own included
			limit, per := 20+p.rng.Int64N(60), p.span()
			return p.check("amount", scoreboard.Anomalies{
				Amount: enforce, MaxPoints: scoreboard.Quota{N: limit, Per: per},
			}, func(e *played, past []*played) bool {
				sum := e.delta
				for _, o := range past {
					if o.on("b") && e.at.Sub(o.at) < per {
						sum += o.delta
					}
				}
				return sum > limit
			})
		},
		"travel": func(p *players) int { // another country than the last known one, on any board
			window := p.span()
			return p.check("travel", scoreboard.Anomalies{Travel: enforce, TravelWindow: window},
				func(e *played, past []*played) bool {
					last := slices.IndexFunc(past, func(o *played) bool { return o.country != "" })
					return e.country != "" && last >= 0 && past[last].country != e.country &&
						e.at.Sub(past[last].at) < window
				})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rejected := 0
			for range 3 { // some histories have nothing that a rule rejects
				p := newPlayers(t, 300)
				for range rounds {
					rejected += once(p)
				}
				if rejected > 0 {
					break
				}
			}
			if rejected == 0 {
				t.Errorf("the rule %s rejected nothing", name)
			}
		})
	}
}
