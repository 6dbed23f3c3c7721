package main

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// checkTime bounds the search for an order of one user's history on one board.
const checkTime = 10 * time.Second

// score is a user's state on a board, as a sequential program would keep it.
type score struct {
	version int64
	pair    pair
	frozen  bool
}

// step is an operation on a score: an increment with its receipt, or the begin or end
// of a freeze of the board.
type step struct {
	board   string
	event   string // empty: a freeze
	by      pair
	receipt contract.Receipt
	freeze  bool
}

// sequential allows exactly what the contract says of one increment after another.
// Outcomes that are not known never get here: each event was repeated until it had one,
// and its operation lasts from the first attempt to that answer.
var sequential = porcupine.Model{
	Init: func() any { return score{} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(score), input.(step)
		if in.event == "" {
			s.frozen = in.freeze
			return true, s
		}
		want := nextPair(in.board, s.version, s.pair, in.by)
		if s.frozen || in.receipt.Version != s.version+1 || after(in.receipt) != want {
			return false, s
		}
		s.version, s.pair = in.receipt.Version, want
		return true, s
	},
}

// checkHistories requires each user's history on each board to be linearizable. The
// court is left out: corrections move its scores, and checkCourt knows them.
func (r *freezer) checkHistories() {
	histories := make(map[[2]string][]porcupine.Operation)
	for _, e := range r.log.Events() {
		if e.Board == boardCourt {
			continue
		}
		for _, receipt := range e.Receipts {
			k := [2]string{e.UserID, receipt.Board}
			histories[k] = append(histories[k], porcupine.Operation{
				Input: step{
					board: receipt.Board, event: e.EventID, by: r.submitted(e.Increment, receipt.Board),
					receipt: receipt,
				},
				Call: int64(e.Invoked), Return: int64(e.Returned),
			})
		}
	}
	for k, operations := range histories {
		if k[1] == boardArena {
			for _, f := range r.frozen {
				operations = append(operations, during(f.begin, step{freeze: true}), during(f.end, step{}))
			}
		}
		switch porcupine.CheckOperationsTimeout(sequential, operations, checkTime) {
		case porcupine.Illegal:
			r.log.Violate("history", k[0], "no order of the %d operations of %s on %s explains the receipts; %s",
				len(operations), k[0], k[1], firstUnexplained(operations))
		case porcupine.Unknown:
			r.log.Violate("harness", k[0], "no order of %d operations on %s was found within %s",
				len(operations), k[1], checkTime)
		}
	}
}

func during(s span, in step) porcupine.Operation {
	return porcupine.Operation{Input: in, Call: int64(s.from), Return: int64(s.to)}
}

// firstUnexplained describes the operation with the lowest version that is not part of
// the longest order that was found.
func firstUnexplained(operations []porcupine.Operation) string {
	_, info := porcupine.CheckOperationsVerbose(sequential, operations, checkTime)
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	explained := make(map[string]bool)
	for _, o := range longest {
		explained[o.Input.(step).event] = true
	}
	var first porcupine.Operation
	lowest := int64(math.MaxInt64)
	for _, o := range operations {
		in := o.Input.(step)
		if in.event != "" && !explained[in.event] && in.receipt.Version < lowest {
			first, lowest = o, in.receipt.Version
		}
	}
	in, ok := first.Input.(step)
	if !ok {
		return "every increment alone can be explained"
	}
	return fmt.Sprintf("the first that cannot be explained is event %s by %v (%s to %s), version %d, score %v",
		in.event, in.by, time.Duration(first.Call), time.Duration(first.Return),
		in.receipt.Version, after(in.receipt))
}
