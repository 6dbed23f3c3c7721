package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// The boards of a run, beside those of pairs.go. Players' scores on global, arena and goals only rise, so every
// read of them can be compared with the ledger; arena is frozen from time to time.
const (
	boardGlobal = "global"
	boardArena  = "arena"
	boardBest   = "best"
	boardLatest = "latest"
)

// boards are those without seasons.
func (s *site) boards() []string {
	return []string{boardGlobal, boardArena, boardBest, boardLatest, boardCourt, boardGoals, boardDuel}
}

// rising are boards on which players' scores only rise.
func (s *site) rising() []string {
	return []string{boardGlobal, boardArena, boardGoals}
}

// Boards with seasons; see seasons.go. That of the stars is a league, that of the cup a tournament; see leagues.go and
// tournament.go.
const (
	boardLadder = "ladder"
	boardStars  = "stars"
	boardCup    = "cup"
)

// attemptTime bounds one request; a client that gives up does not know what
// became of it.
const attemptTime = 4 * time.Second

// players write and read as the game's users do, and note what they were told.
type players struct {
	*site

	mu        sync.Mutex
	lostUntil time.Duration     // accepted increments sent before may have been deleted with their log
	done      []*contract.Event // settled with receipts, to be repeated
	nextID    int
}

type span struct{ from, to time.Duration }

// freezer is the operator who freezes the arena and takes writes to it again.
type freezer struct {
	*site

	mu     sync.Mutex
	frozen []freeze
}

// freeze is one that was answered with success, and its end.
type freeze struct{ begin, end span }

// replaced notes that a topic was deleted, and made again by now. For accepted increments,
// a 202 from before may never come to an outcome.
func (r *players) replaced(topic string) {
	if topic != topicIncrements {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lostUntil = r.log.Now()
}

// redisLost notes that Redis is about to lose what it had shown, and later that it loses no more. Without Kafka,
// accepted increments are in its streams.
func (r *players) redisLost(begins bool) {
	r.site.redisLost.Store(true)
	if r.cluster.Can(cluster.Broker) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lostUntil = r.log.Now(); begins {
		r.lostUntil = math.MaxInt64
	}
}

// mayBeLost says whether an accepted event was deleted with its log.
func (r *players) mayBeLost(e *contract.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return e.Async && e.Invoked < r.lostUntil
}

// writer submits increments of players until ctx ends.
func (r *players) writer(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		switch n := rng.IntN(100); {
		case n < 12:
			r.repeat(ctx, rng)
		case n < 18:
			r.conflict(ctx, rng)
		case n < 28:
			r.batch(ctx, rng)
		case n < 40:
			e := r.newEvent(rng, true)
			r.settle(ctx, rng, e)
			r.poll(ctx, rng, e)
		default:
			r.settle(ctx, rng, r.newEvent(rng, false))
		}
		pause(ctx, time.Duration(rng.IntN(r.o.pauseMS+1))*time.Millisecond)
	}
}

// newEvent draws an increment. Few players share it among all writers, so that
// their rows are contended.
func (r *players) newEvent(rng *rand.Rand, async bool) *contract.Event {
	r.mu.Lock()
	r.nextID++
	id := r.nextID
	r.mu.Unlock()
	in := contract.Increment{
		UserID: r.player(rng), Delta: 1 + rng.Int64N(50), EventID: fmt.Sprintf("e-%d-%d", r.o.seed, id),
	}
	switch n := rng.IntN(14); {
	case n < 4: // global alone, by its default
	case n < 6:
		in.Boards = []string{boardGlobal, boardArena}
	case n < 7:
		in.Board = boardArena
	case n < 9:
		in.Board = boardBest
	case n > 12: // one of the two takes the subscore
		in.Boards, in.Delta, in.Subscore = []string{boardGlobal, boardGoals}, 1+rng.Int64N(3), r.subscore(rng)
	case n > 10:
		in.Board, in.Delta, in.Subscore = boardDuel, rng.Int64N(4), r.subscore(rng)
	case n > 9:
		in.Board, in.Delta, in.Subscore = boardGoals, rng.Int64N(4), r.subscore(rng)
		if in.Delta == 0 && (in.Subscore == nil || *in.Subscore == 0) {
			in.Delta = 1 // nothing to add is no increment
		}
	case async:
		in.Board = boardBest
	default:
		in.Board = boardLatest
	}
	return r.log.Begin(in, async)
}

func (r *players) player(rng *rand.Rand) string { return playerName(rng.IntN(r.o.players)) }

func playerName(i int) string { return fmt.Sprintf("p%03d", i) }

// settle submits an event until its outcome is known, at any node, as a client
// with a retry loop does. Where the run ends first, it stays open.
func (r *players) settle(ctx context.Context, rng *rand.Rand, e *contract.Event) {
	r.settleAs(ctx, rng, r.server, e)
}

// settleAs is settle with another sender.
func (r *players) settleAs(ctx context.Context, rng *rand.Rand, sender *contract.Client, e *contract.Event) {
	for attempt := 0; ctx.Err() == nil && attempt < 40; attempt++ {
		node := r.node(rng, "api")
		if r.attempt(ctx, sender, node, e, e.Async) || e.Accepted {
			return
		}
		pause(ctx, time.Duration(5+rng.IntN(100))*time.Millisecond)
	}
}

// poll looks an accepted event up, at any node, until it has an outcome: it is
// pending, or the node says that it does not know yet, but it is never unknown.
func (r *players) poll(ctx context.Context, rng *rand.Rand, e *contract.Event) {
	for began := r.log.Now(); ctx.Err() == nil && e.Accepted && !e.Settled(); {
		if r.log.Now()-began > pollTime {
			return // settled at the end
		}
		r.lookUp(ctx, r.node(rng, "api"), e, false)
		pause(ctx, time.Duration(5+rng.IntN(200))*time.Millisecond)
	}
}

// pollTime bounds how long a writer follows one event, so that it goes on during a
// long outage.
const pollTime = 5 * time.Second

// lookUp asks for an event once, and notes its outcome; settling says that the faults
// are over. It is false if the node says that the event is unknown.
func (r *players) lookUp(ctx context.Context, node *cluster.Node, e *contract.Event, settling bool) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	began := r.log.Now()
	a, err := r.server.Event(ctx, node.URL(), e.UserID, e.EventID)
	e.LookUps++
	switch {
	case err != nil || a.Status >= 500 || a.State == "pending":
	case a.State == "rejected" && e.Maybe && !settling:
		// An attempt without an answer may still be on its way, and be recorded.
	case a.State == "rejected":
		e.Rejected, e.Returned = cmp.Or(a.Code, "rejected"), r.log.Now()
	case len(a.Receipts) > 0:
		r.receipts(e, a.Receipts)
	case a.Status == http.StatusNotFound:
		if e.Accepted && !r.mayBeLost(e) {
			r.log.Violate("404 after a 202", e.UserID,
				"event %s was accepted, and a look-up at node %d (from %s to %s) says that it is unknown",
				e.EventID, node.ID, began, r.log.Now())
		}
		return false
	}
	return true
}

// attempt submits an event once and says whether its outcome is known now.
func (r *players) attempt(
	ctx context.Context, sender *contract.Client, node *cluster.Node, e *contract.Event, async bool,
) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	e.Attempts++
	a, err := sender.Submit(ctx, node.URL(), e.Increment, async)
	return r.take(e, a, err)
}

// take notes what an attempt came to.
func (r *players) take(e *contract.Event, a contract.Answer, err error) bool {
	switch {
	case err != nil || a.Status >= 500 || a.Status == http.StatusTooManyRequests ||
		slices.Contains([]string{"unavailable", "overloaded", "internal", "rate_limited"}, a.Code):
		if a.Code == "internal" && a.Status == http.StatusOK { // of an item in a batch
			r.log.Violate("internal error", e.UserID, "event %s failed in a batch: %s", e.EventID, a.Message)
		}
		e.Maybe = e.Maybe || err != nil || a.Status >= 500
	case a.Status == http.StatusUnauthorized: // a clock is wrong: the request is too old, or from the future
	case a.Status == http.StatusAccepted || a.State == "pending":
		e.Accepted = true
	case len(a.Receipts) > 0:
		r.receipts(e, a.Receipts)
		return true
	case a.State == "rejected" || a.Status >= 400:
		if e.Maybe || e.Accepted {
			if a.Code == "board_closed" || a.Code == "forbidden" || a.Code == "not_joined" && !r.faultsOver.Load() {
				return false // of this attempt; an earlier one may have been recorded
			}
		}
		e.Rejected, e.Returned = a.Code, r.log.Now()
		return true
	default:
		r.log.Violate("contract", e.UserID, "event %s: status %d without a receipt or an error", e.EventID, a.Status)
	}
	return false
}

// receipts notes the outcome of an event, and compares it with the one that an
// earlier attempt was told.
func (r *players) receipts(e *contract.Event, got []contract.Receipt) {
	// A look-up does not know the order in which the request named the boards.
	order := boardsOf(e.Increment)
	slices.SortStableFunc(got, func(a, b contract.Receipt) int {
		return cmp.Compare(slices.Index(order, a.Board), slices.Index(order, b.Board))
	})
	for i := range got {
		if has := got[i].NewSubscore != nil; has != r.hasSubscores(got[i].Board) {
			r.log.Violate("contract", e.UserID, "event %s: the receipt %+v has a subscore: %t", e.EventID, got[i], has)
		}
	}
	if e.Receipts == nil {
		e.Receipts, e.Returned = got, r.log.Now()
		if e.Board == boardCourt {
			return // its user may be banned when it is repeated
		}
		r.mu.Lock()
		r.done = append(r.done, e)
		r.mu.Unlock()
		return
	}
	r.compare(e, got)
}

func (r *players) compare(e *contract.Event, got []contract.Receipt) {
	if len(got) != len(e.Receipts) {
		r.log.Violate(
			"repeat",
			e.UserID,
			"event %s: a repeat got %d receipts, the first answer %d",
			e.EventID,
			len(got),
			len(e.Receipts),
		)
		return
	}
	for i := range got {
		if !got[i].Same(e.Receipts[i]) {
			r.log.Violate(
				"repeat",
				e.UserID,
				"event %s: a repeat was told %+v, the first answer %+v",
				e.EventID,
				got[i],
				e.Receipts[i],
			)
		}
	}
}

// settled draws an event that is done.
func (r *players) settled(rng *rand.Rand) *contract.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.done) == 0 {
		return nil
	}
	return r.done[rng.IntN(len(r.done))]
}

// says reports whether an answer is about the event: not of an outage, of a wrong clock,
// nor of too many requests that a wrong clock had rejected.
func says(a contract.Answer) bool {
	return a.Status < 500 && a.Status != http.StatusUnauthorized && a.Status != http.StatusTooManyRequests
}

// repeat sends an event that is done again: it must get the first receipt.
func (r *players) repeat(ctx context.Context, rng *rand.Rand) {
	e := r.settled(rng)
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	a, err := r.server.Submit(ctx, r.node(rng, "api").URL(), e.Increment, rng.IntN(3) == 0)
	if err != nil || !says(a) {
		return
	}
	switch {
	case len(a.Receipts) > 0:
		r.compare(e, a.Receipts)
		for _, got := range a.Receipts {
			if !got.Replayed {
				r.log.Violate("repeat", e.UserID, "event %s: a repeat is not marked as replayed", e.EventID)
			}
		}
	case a.Status == http.StatusAccepted: // asked for, while the store cannot be asked: the ledger refuses the double
	default:
		r.log.Violate("repeat", e.UserID, "event %s: a repeat got status %d %s", e.EventID, a.Status, a.Code)
	}
}

// conflict sends an event that is done with another payload: a 409, and
// nothing recorded.
func (r *players) conflict(ctx context.Context, rng *rand.Rand) {
	e := r.settled(rng)
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	in := e.Increment
	if in.Subscore != nil && rng.IntN(2) == 0 {
		in.Subscore = new(*in.Subscore + 10) // not 0, which adds nothing
	} else {
		in.Delta += 1000
	}
	a, err := r.server.Submit(ctx, r.node(rng, "api").URL(), in, false)
	if err != nil || !says(a) {
		return
	}
	if a.Code != "event_conflict" {
		r.log.Violate(
			"conflict",
			e.UserID,
			"event %s with another delta or subscore got status %d %s, want event_conflict",
			e.EventID,
			a.Status,
			a.Code,
		)
	}
}

// batch submits several increments at once, the last a repeat of the first, and
// settles what the batch leaves open one by one.
func (r *players) batch(ctx context.Context, rng *rand.Rand) {
	size := 12
	if rng.IntN(4) == 0 {
		size = 90
	}
	events := make([]*contract.Event, 2+rng.IntN(size))
	items := make([]contract.Increment, 0, len(events)+1)
	for i := range events {
		events[i] = r.newEvent(rng, false)
		items = append(items, events[i].Increment)
	}
	items = append(items, events[0].Increment)
	sendCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	answers, err := r.server.Batch(sendCtx, r.node(rng, "api").URL(), items)
	cancel()
	if err == nil && len(answers[0].Receipts) == 0 && len(answers[len(items)-1].Receipts) > 0 {
		// Its repeat is another attempt: in a later transaction, when a frozen board takes
		// writes again.
		answers[0] = answers[len(items)-1]
	}
	for i, e := range events {
		e.Attempts++
		if err != nil {
			e.Maybe = true
			continue
		}
		r.take(e, answers[i], nil)
	}
	if err == nil && len(answers[len(items)-1].Receipts) > 0 && events[0].Receipts != nil {
		r.compare(events[0], answers[len(items)-1].Receipts)
	}
	for _, e := range events {
		if !e.Settled() {
			r.settle(ctx, rng, e)
		}
	}
}

// reader reads heads and standings and notes them for the checks.
func (r *players) reader(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		node := r.node(rng, "read")
		rising := r.rising()
		read := contract.Read{At: r.log.Now(), Node: node.ID, Board: rising[rng.IntN(len(rising))]}
		readCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		var status int
		var err error
		if rng.IntN(3) == 0 {
			var top contract.Top
			top, status, err = r.server.Top(readCtx, node.URL(), read.Board, "", 100)
			read.State, read.Entries = top.State, top.Entries
		} else {
			var p contract.Place
			read.User = r.player(rng)
			if e := r.settled(rng); e != nil && rng.IntN(2) == 0 {
				for _, receipt := range e.Receipts {
					if slices.Contains(rising, receipt.Board) {
						read.User, read.Board, read.MinimumOf = receipt.UserID, receipt.Board, receipt.Version
					}
				}
			}
			p, status, err = r.server.Place(readCtx, node.URL(), read.Board, read.User, read.MinimumOf)
			read.State, read.Score = p.State, p.Score
		}
		cancel()
		read.Until, read.Wall, read.Found = r.log.Now(), time.Now(), status == http.StatusOK
		if err == nil && (status == http.StatusOK || status == http.StatusNotFound && read.User != "") {
			r.log.Read(read)
		}
		pause(ctx, time.Duration(rng.IntN(2*r.o.pauseMS+1))*time.Millisecond)
	}
}

// operator freezes and unfreezes arena until ctx ends.
func (r *freezer) operator(ctx context.Context, rng *rand.Rand) {
	for {
		if pause(ctx, time.Duration(500+rng.IntN(2500))*time.Millisecond); ctx.Err() != nil {
			return
		}
		r.freeze(ctx, rng, r.node(rng, "api"))
	}
}

// freeze freezes arena for a moment. Between the answer to the freeze and the
// request to unfreeze, nothing may be recorded on it. A freeze of unknown outcome is
// none: it may only prevent what would be allowed without it.
func (r *freezer) freeze(ctx context.Context, rng *rand.Rand, node *cluster.Node) {
	path := "/v1/boards/" + boardArena
	var f freeze
	f.begin.from = r.log.Now()
	if !r.admin(ctx, node, http.MethodPost, path+"/freeze?reason=torture", nil) {
		r.thaw(ctx, rng)
		return
	}
	f.begin.to = r.log.Now()
	before := r.rowsOnArena(ctx, rng)
	pause(ctx, time.Duration(100+rng.IntN(900))*time.Millisecond)
	for user, n := range r.rowsOnArena(ctx, rng) {
		if was, ok := before[user]; ok && was != n {
			r.log.Violate("frozen", user, "the freeze of %s was answered, and then versions went from %d to %d",
				boardArena, was, n)
		}
	}
	f.end.from = r.log.Now()
	r.thaw(ctx, rng)
	f.end.to = r.log.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = append(r.frozen, f)
}

// rowsOnArena is how many increments some players have on arena by their statements,
// which come from the store.
func (r *freezer) rowsOnArena(ctx context.Context, rng *rand.Rand) map[string]int64 {
	var mu sync.Mutex
	var all sync.WaitGroup
	found := make(map[string]int64)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	for i := range min(r.o.players, 16) {
		user, node := playerName(i), r.node(rng, "api")
		all.Go(func() {
			rows, _, err := r.server.Page(ctx, node.URL(), user, "")
			for _, row := range rows { // the newest first
				if err == nil && row.Board == boardArena {
					mu.Lock()
					defer mu.Unlock()
					found[user] = row.Version
					return
				}
			}
		})
	}
	all.Wait()
	return found
}

// thaw unfreezes arena, at any node, until one says so.
func (r *freezer) thaw(ctx context.Context, rng *rand.Rand) {
	for end := time.Now().Add(changeTime); time.Now().Before(end); {
		if r.admin(
			ctx,
			r.node(rng, "api"),
			http.MethodPost,
			"/v1/boards/"+boardArena+"/unfreeze?reason=torture",
			nil,
		) {
			return
		}
		time.Sleep(250 * time.Millisecond)
	}
	r.log.Violate("availability", "", "board %s could not be unfrozen", boardArena)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// boardsOf are the boards that an increment goes to.
func boardsOf(in contract.Increment) []string {
	switch {
	case len(in.Boards) > 0:
		return in.Boards
	case in.Board != "":
		return []string{in.Board}
	}
	return []string{boardGlobal}
}
