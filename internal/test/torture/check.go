package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// How long the healed installation may take to answer for everything.
const (
	settleTime   = 90 * time.Second
	convergeTime = 90 * time.Second
)

// absentTime is how long after a user's first increment a read may still answer 404.
const absentTime = 2 * time.Second

// finish settles what is open, waits until all nodes show everything, and
// checks the whole history.
func (r *run) finish(ctx context.Context, rng *rand.Rand) {
	time.Sleep(attemptTime)
	r.faultsOver.Store(true)
	r.settleAll(ctx, rng)
	r.court.settleVoids(ctx, rng)
	r.phase("settled")
	ended := time.Now()
	ledger := r.ledger(ctx, rng)
	r.checkEvents(ledger)
	r.checkLedger(ledger)
	r.freezer.checkHistories()
	r.seasons.checkSeasons(ctx, rng, ledger)
	r.league.check(ctx, rng, ledger)
	r.tournament.check(ctx, rng, ledger)
	r.deliveries.close()
	r.court.checkCourt(ledger)
	r.checkReads(ledger)
	r.partitions.checkPartitions(ctx, rng)
	r.checkHeads(ctx, ledger, ended)
	r.watchers.checkWitnesses(ctx, ledger)
}

// settleAll asks for the outcome of every event that has none: what was
// accepted must come to one by itself, the rest is submitted again.
func (r *run) settleAll(ctx context.Context, rng *rand.Rand) {
	deadline := time.Now().Add(settleTime)
	for _, e := range r.log.Events() {
		if r.players.mayBeLost(e) && e.Accepted && time.Now().Before(deadline) {
			submitLost(ctx, r, rng, e)
		}
		for !e.Settled() && time.Now().Before(deadline) && ctx.Err() == nil {
			node := r.node(rng, "api")
			if e.Async && (e.Accepted || e.Maybe) && !r.players.mayBeLost(e) {
				known := r.players.lookUp(ctx, node, e, true)
				if e.Settled() {
					break
				}
				if known || e.Accepted {
					time.Sleep(50 * time.Millisecond)
					continue
				}
			}
			if !r.players.attempt(ctx, r.server, node, e, false) {
				time.Sleep(20 * time.Millisecond)
			}
		}
		if !e.Settled() {
			rule := "no outcome"
			if e.Accepted {
				rule = "202 without an outcome"
			}
			r.log.Violate(
				rule,
				e.UserID,
				"event %s (async %t, %d attempts) has no outcome %s after the faults",
				e.EventID,
				e.Async,
				e.Attempts,
				settleTime,
			)
		}
	}
}

// lostTime is how long an event that the queue has lost may be pending, from 10 s after it was
// accepted, and how long its repeat may be.
const lostTime = 15 * time.Second

// submitLost asks for the outcome of an event that the queue may have lost. It is not pending
// for long. Sent again, it comes to an outcome.
func submitLost(ctx context.Context, r *run, rng *rand.Rand, e *contract.Event) {
	wait := func(rule string, until func(known bool) bool) {
		for deadline := time.Now().Add(lostTime); !e.Settled() && ctx.Err() == nil; {
			known := r.players.lookUp(ctx, r.node(rng, "api"), e, true)
			if until(known) {
				return
			}
			if time.Now().After(deadline) {
				r.log.Violate(rule, e.UserID, "event %s, whose queue has lost it, has no outcome after %s",
					e.EventID, lostTime)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	wait("pending without end", func(known bool) bool { return !known })
	for deadline := time.Now().Add(lostTime); !e.Settled() && time.Now().Before(deadline); {
		e.Accepted = false
		if r.players.attempt(ctx, r.server, r.node(rng, "api"), e, true) || e.Accepted {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	wait("202 without an outcome", func(bool) bool { return false })
}

// rows are a user's ledger rows on one board, oldest first.
type rows map[string]map[string][]contract.Row // user, board

func (r *run) ledger(ctx context.Context, rng *rand.Rand) rows {
	all := make(rows)
	for _, e := range r.log.Events() {
		if all[e.UserID] != nil {
			continue
		}
		all[e.UserID] = make(map[string][]contract.Row)
		statement, err := r.server.Statement(ctx, r.node(rng, "api").URL(), e.UserID)
		if err != nil {
			r.log.Violate("harness", e.UserID, "%v", err)
		}
		for _, row := range statement {
			all[e.UserID][row.Board] = append(all[e.UserID][row.Board], row)
		}
		for _, list := range all[e.UserID] {
			slices.SortFunc(list, func(a, b contract.Row) int { return cmp.Compare(a.Version, b.Version) })
		}
	}
	return all
}

// checkEvents holds every answer against the ledger: each acknowledged event is
// there exactly once per board and as its receipt says, and nothing else is.
func (r *run) checkEvents(all rows) {
	type key struct{ user, board, event string }
	found := make(map[key][]contract.Row)
	for user, byBoard := range all {
		for board, list := range byBoard {
			for _, row := range list {
				if row.Action == actionAdjust || strings.Contains(row.Action, ":") {
					continue // checkCourt compares corrections
				}
				k := key{user, board, row.EventID}
				found[k] = append(found[k], row)
			}
		}
	}
	for _, e := range r.log.Events() {
		for i, board := range boardsOf(e.Increment) {
			switch board {
			case boardLadder:
				board = r.seasons.of(e, all)
			case boardStars:
				board = r.league.of(e, all)
			case boardCup:
				board = r.tournament.of(e, all)
			}
			k := key{e.UserID, board, e.EventID}
			got := found[k]
			delete(found, k)
			switch {
			case e.Receipts != nil && len(got) == 0:
				r.log.Violate(
					"lost",
					e.UserID,
					"event %s was acknowledged on %s and is not in the ledger",
					e.EventID,
					board,
				)
			case len(got) > 1:
				r.log.Violate(
					"counted twice",
					e.UserID,
					"event %s is %d times in the ledger of %s",
					e.EventID,
					len(got),
					board,
				)
			case e.Rejected != "" && len(got) > 0:
				r.log.Violate(
					"recorded though rejected",
					e.UserID,
					"event %s was rejected (%s) and is in the ledger of %s",
					e.EventID,
					e.Rejected,
					board,
				)
			case e.Receipts != nil:
				r.checkReceipt(e, e.Receipts[i], got[0])
			}
		}
	}
	for k := range found {
		r.log.Violate("from nowhere", k.user, "event %s in the ledger of %s was never sent", k.event, k.board)
	}
}

func (r *run) checkReceipt(e *contract.Event, receipt contract.Receipt, row contract.Row) {
	if receipt.Version != row.Version || after(receipt) != pairAfter(row) ||
		!receipt.RecordedAt.Equal(row.RecordedAt) {
		r.log.Violate("receipt", e.UserID, "event %s: the receipt says %+v, the ledger %+v", e.EventID, receipt, row)
	}
}

// checkLedger follows every user's rows: versions without a gap, scores by the
// board's mode, times that never go back.
func (r *run) checkLedger(all rows) {
	for user, byBoard := range all {
		for board, list := range byBoard {
			var before pair
			var last time.Time
			for i, row := range list {
				want := nextPair(board, int64(i), before, pair{row.Delta, row.Subscore})
				if row.Version != int64(i)+1 || pairAfter(row) != want || row.RecordedAt.Before(last) {
					r.log.Violate(
						"ledger",
						user,
						"row %d of %s is %+v, want version %d, score %v, not before %s",
						i,
						board,
						row,
						i+1,
						want,
						last,
					)
				}
				before, last = want, row.RecordedAt
			}
		}
	}
}

// known is when a client had been told of each row, which is after its commit.
type known map[[3]string]time.Time // user, board, event

func (r *run) known() known {
	all := make(known)
	for _, e := range r.log.Events() {
		if e.Receipts == nil {
			continue
		}
		for _, board := range boardsOf(e.Increment) {
			all[[3]string{e.UserID, board, e.EventID}] = r.log.Wall(e.Returned)
		}
	}
	return all
}

// checkReads holds each read against the ledger: what a client had been told
// before its as_of is in it.
func (r *run) checkReads(all rows) {
	told := r.known()
	for _, read := range r.log.Reads() {
		if !read.Found { // a 404 has no as_of; a user may be remembered as absent for a second
			read.AsOf = r.log.Wall(read.At).Add(-absentTime)
			r.checkRead(read, read.User, 0, all, told)
			continue
		}
		if read.AsOf.Year() < 2000 || read.AgeMS < 0 || read.AgeMS > math.MaxInt64/int64(2*time.Millisecond) {
			r.log.Violate("as_of", read.User, "a read of %s at node %d says as_of %s, age %d ms (degraded %t %s)",
				read.Board, read.Node, read.AsOf, read.AgeMS, read.Degraded, read.DegradedReason)
			continue
		}
		if read.AsOf.After(read.Wall.Add(time.Second)) {
			r.log.Violate("as_of", read.User, "a read at %s says as_of %s", read.Wall, read.AsOf)
		}
		if read.User != "" {
			r.checkRead(read, read.User, read.Score, all, told)
			continue
		}
		for i, e := range read.Entries {
			if outOfOrder(read.Entries, i, read.Board) {
				r.log.Violate("head order", e.UserID, "node %d, board %s: row %d is %+v", read.Node, read.Board, i, e)
			}
			r.checkRead(read, e.UserID, e.Score, all, told)
		}
	}
}

// checkRead compares one score. Players' scores on these boards only rise.
func (r *run) checkRead(read contract.Read, user string, score int64, all rows, told known) {
	before, reached := int64(0), int64(0)
	for _, row := range all[user][read.Board] {
		if at, ok := told[[3]string{user, read.Board, row.EventID}]; ok && at.Before(read.AsOf) {
			before = row.NewScore
		}
		if row.Version <= read.MinimumOf {
			reached = row.NewScore
		}
	}
	if score < before {
		r.log.Violate(
			"stale",
			user,
			"a read of %s at node %d (%s to %s, degraded %t %s) says %d as of %s; the ledger had %d by then",
			read.Board,
			read.Node,
			read.At,
			read.Until,
			read.Degraded,
			read.DegradedReason,
			score,
			read.AsOf,
			before,
		)
	}
	// Without the store nobody knows that version; the answer says so.
	if read.MinimumOf > 0 && read.DegradedReason != "store_unavailable" && score < reached {
		r.log.Violate(
			"min_version",
			user,
			"a read of %s at node %d waited for version %d (score %d) and says %d (degraded %t %s)",
			read.Board,
			read.Node,
			read.MinimumOf,
			reached,
			score,
			read.Degraded,
			read.DegradedReason,
		)
	}
}

// checkHeads waits until every node shows all that was acknowledged, and holds
// the whole order of each board against the ledger's, ties included.
func (r *run) checkHeads(ctx context.Context, all rows, ended time.Time) {
	deadline := time.Now().Add(convergeTime)
	compared := r.boards()
	if !r.storeClock.Load() {
		compared = append(compared, r.seasons.current())
		if len(r.league.all) > 0 {
			compared = append(compared, r.league.current())
		}
		if len(r.tournament.all) > 0 {
			compared = append(compared, r.tournament.current())
		}
	}
	for _, board := range compared {
		want := standings(board, all)
		for _, node := range r.cluster.Nodes {
			if !node.Serves("api") && !node.Serves("read") {
				continue
			}
			for {
				problem := r.compareBoard(ctx, node.URL(), board, want, ended)
				if problem == "" && slices.Contains(dividedBoards, familyOf(board)) {
					problem = r.partitions.compareRanks(ctx, node.URL(), board, want, ended)
				}
				if problem == "" {
					break
				}
				if time.Now().After(deadline) || ctx.Err() != nil {
					r.log.Violate(
						"convergence",
						"",
						"node %d, board %s, %s after the faults: %s",
						node.ID,
						board,
						convergeTime,
						problem,
					)
					break
				}
				time.Sleep(200 * time.Millisecond)
			}
		}
	}
}

// standing is one user's place by the ledger.
type standing struct {
	user string
	pair
	reached time.Time
}

// standings ranks a board by the contract's rule: the higher score, then the better subscore, then the
// earlier moment at which they were reached, then the user id.
func standings(board string, all rows) []standing {
	var list []standing
	for user, byBoard := range all {
		var s standing
		for i, row := range byBoard[board] {
			if i == 0 || pairAfter(row) != s.pair {
				s.reached = row.RecordedAt
			}
			s.user, s.pair = user, pairAfter(row)
		}
		if s.user != "" {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b standing) int {
		return cmp.Or(a.compare(b.pair, board), a.reached.Compare(b.reached), cmp.Compare(a.user, b.user))
	})
	return list
}

func (r *run) compareBoard(
	ctx context.Context,
	server, board string,
	want []standing,
	ended time.Time,
) (problem string) {
	cursor, at := "", 0
	for {
		callCtx, cancel := context.WithTimeout(ctx, attemptTime)
		top, status, err := r.server.Top(callCtx, server, board, cursor, 100)
		cancel()
		if err != nil || status != http.StatusOK {
			return fmt.Sprintf("status %d %s %v", status, top.Code, err)
		}
		if top.Degraded || top.AsOf.Before(ended) {
			return fmt.Sprintf("degraded %t %s, as of %s", top.Degraded, top.DegradedReason, top.AsOf)
		}
		for _, e := range top.Entries {
			if at >= len(want) || e.UserID != want[at].user || pairOf(e) != want[at].pair || e.Rank != int64(at)+1 {
				w := standing{}
				if at < len(want) {
					w = want[at]
				}
				return fmt.Sprintf("place %d is %+v, the ledger says %s with %v", at+1, e, w.user, w.pair)
			}
			at++
		}
		if cursor = top.NextCursor; cursor == "" {
			break
		}
	}
	if at != len(want) {
		return fmt.Sprintf("%d users are ranked, the ledger has %d", at, len(want))
	}
	return ""
}
