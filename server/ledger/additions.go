package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Additions is a batch of increments that PostgreSQL can add up by itself: nothing
// needs a decision unless a board, a user or a score turns out to be unusual.
//
// Rows are sorted by user, board and place in the batch: the order of locking, and one
// in which equal pairs are neighbours.
type Additions struct {
	Items    []scoreboard.Increment
	Hashes   [][16]byte // of the payloads of Items
	Outcomes []scoreboard.Outcome

	Boards          []string // different ones
	Lowest, Highest []int64  // of the deltas for each board
	Users           []string // different ones, in byte order
	// Pairs of user and board, by index into Users and Boards.
	PairUsers, PairBoards         []int32
	PairUserNames, PairBoardNames []string
	Sums                          []int64 // of the deltas of each pair
	Counts                        []int32

	Rows AdditionRows
	// AcceptedKeys are the keys of increments that were accepted for later: such a key may
	// have been revoked since.
	AcceptedKeys []string
	// RulesVersion is that of the rules by which boards were chosen; nil: by none.
	RulesVersion *int64

	events  map[EventKey]int32    // the first item that names each
	repeats []int32               // the other items; they have no rows
	known   map[int32]*knownEvent // that the ledger holds, by their first items
}

// AdditionRows are rows of the ledger without what PostgreSQL computes, column by column.
type AdditionRows struct {
	Details
	Items         []int32 // of which each is a row
	Pairs         []int32 // 1-based
	Sums          []int64 // of the pair's deltas up to and with the row
	Counts        []int32 // of the pair's rows up to and with the row
	Users, Boards []string
	Hashes        [][]byte
	Shards        []int16
}

// NewAdditions prepares items; ok is false if one of them needs a decision.
func NewAdditions(items []scoreboard.Increment, shards int, policy *scoreboard.IngestPolicy) (a *Additions, ok bool) {
	for i := range items {
		if !isAddition(&items[i], policy) {
			return nil, false
		}
	}
	a = &Additions{
		Items: items, Hashes: make([][16]byte, len(items)), Outcomes: make([]scoreboard.Outcome, len(items)),
		events: make(map[EventKey]int32, len(items)),
	}
	places := make([]place, 0, len(items))
	for i := range items {
		in := &items[i]
		a.Hashes[i] = in.PayloadHash()
		if _, again := a.events[keyOf(in)]; again {
			a.repeats = append(a.repeats, int32(i))
			continue
		}
		a.events[keyOf(in)] = int32(i)
		a.AcceptedKeys = addAcceptedKey(a.AcceptedKeys, in)
		for _, board := range in.Targets() {
			places = append(places, place{in.User, board, int32(i), a.board(board, in.Delta)})
		}
	}
	slices.SortFunc(places, func(x, y place) int {
		return cmp.Or(strings.Compare(string(x.user), string(y.user)),
			strings.Compare(string(x.board), string(y.board)), cmp.Compare(x.item, y.item))
	})
	a.addRows(places, shards)
	return a, true
}

// isAddition reports whether an item can be recorded by adding its delta, as far as the
// item itself and the rules in force tell.
func isAddition(in *scoreboard.Increment, policy *scoreboard.IngestPolicy) bool {
	if in.ByRules && !slices.Contains(in.Boards, scoreboard.GlobalBoard) {
		return false // the version of the rules is compared with the default board only
	}
	if in.Source.Internal() || in.Delta == 0 || in.Objection != nil || in.OnlyIfBetter || in.IfPeriod != "" ||
		in.Subscore != nil || in.Metadata != "" || in.ActionID != [16]byte{} ||
		in.ActionTime != (scoreboard.ActionTime{}) {
		return false
	}
	return policy == nil || policy.Anomalies.Off() && policy.Rules.Of(in.Action) == nil &&
		policy.CheckDelta(in.Delta) == nil
}

// place is where an item has a row.
type place struct {
	user       scoreboard.UserID
	board      scoreboard.BoardID
	item       int32
	boardIndex int32 // into Boards
}

// board returns the index of a board, and widens its bounds of deltas. A batch names few.
func (a *Additions) board(id scoreboard.BoardID, delta int64) int32 {
	i := slices.Index(a.Boards, string(id))
	if i < 0 {
		i = len(a.Boards)
		a.Boards, a.Lowest, a.Highest = append(a.Boards, string(id)), append(a.Lowest, delta), append(a.Highest, delta)
	}
	a.Lowest[i], a.Highest[i] = min(a.Lowest[i], delta), max(a.Highest[i], delta)
	return int32(i)
}

// addRows fills users, pairs and rows from the sorted places.
func (a *Additions) addRows(places []place, shards int) {
	for n := range places {
		p := &places[n]
		newUser := len(a.Users) == 0 || a.Users[len(a.Users)-1] != string(p.user)
		if newUser {
			a.Users = append(a.Users, string(p.user))
		}
		last := len(a.Sums) - 1
		if newUser || a.PairBoardNames[last] != string(p.board) {
			a.PairUsers, a.PairBoards = append(a.PairUsers, int32(len(a.Users))), append(a.PairBoards, p.boardIndex+1)
			a.PairUserNames, a.PairBoardNames = append(a.PairUserNames, string(p.user)),
				append(a.PairBoardNames, string(p.board))
			a.Sums, a.Counts = append(a.Sums, 0), append(a.Counts, 0)
			last++
		}
		in := &a.Items[p.item]
		a.Sums[last] += in.Delta
		a.Counts[last]++
		a.Rows.add(in, &a.Hashes[p.item], p, int32(last+1), a.Sums[last], a.Counts[last], Shard(in.User, shards))
	}
}

func (r *AdditionRows) add(
	in *scoreboard.Increment, hash *[16]byte, p *place, pair int32, sum int64, count int32, shard int16,
) {
	r.Details.add(in)
	r.Items, r.Pairs = append(r.Items, p.item), append(r.Pairs, pair)
	r.Sums, r.Counts = append(r.Sums, sum), append(r.Counts, count)
	r.Users, r.Boards = append(r.Users, string(p.user)), append(r.Boards, string(p.board))
	r.Hashes, r.Shards = append(r.Hashes, hash[:]), append(r.Shards, shard)
}

// AddKnown adds a receipt that the ledger holds for the event of a row.
func (a *Additions) AddKnown(row int, hash [16]byte, receipt scoreboard.Receipt) {
	i := a.Rows.Items[row]
	e := a.known[i]
	if e == nil {
		if a.known == nil {
			a.known = make(map[int32]*knownEvent)
		}
		e = &knownEvent{hash: hash}
		a.known[i] = e
	}
	receipt.User, receipt.RecordedAt = a.Items[i].User, receipt.RecordedAt.UTC()
	e.add(receipt)
}

// Added sets the outcomes after the commit, when every known event is added: from the
// time of each user, and from the score and the version after the batch of each pair that
// has a new event, in order.
func (a *Additions) Added(times []time.Time, scores, versions []int64) {
	a.setReceipts(times, scores, versions)
	for i, known := range a.known {
		a.Outcomes[i].Receipts, a.Outcomes[i].Err = known.replay(&a.Items[i], a.Hashes[i])
	}
	for _, i := range a.repeats {
		first := a.events[keyOf(&a.Items[i])]
		known := a.known[first]
		if known == nil {
			known = &knownEvent{hash: a.Hashes[first], receipts: a.Outcomes[first].Receipts}
		}
		a.Outcomes[i].Receipts, a.Outcomes[i].Err = known.replay(&a.Items[i], a.Hashes[i])
	}
}

// setReceipts sets the receipts of new events. It goes back from the last row of each
// pair, whose score and version are known.
func (a *Additions) setReceipts(times []time.Time, scores, versions []int64) {
	r := &a.Rows
	receipts := make([]scoreboard.Receipt, len(r.Items))
	previous := make([]scoreboard.Score, len(r.Items))
	pair := len(scores) // of those that have a new event
	last := int32(0)    // pair, 1-based; none yet
	var score, version int64
	for n := len(r.Items) - 1; n >= 0; n-- {
		i := r.Items[n]
		if a.known[i] != nil {
			continue
		}
		if r.Pairs[n] != last {
			pair--
			last, score, version = r.Pairs[n], scores[pair], versions[pair]
		}
		in, outcome := &a.Items[i], &a.Outcomes[i]
		if outcome.Receipts == nil {
			k := len(in.Boards) + len(in.Matched)
			outcome.Receipts, receipts = receipts[:k:k], receipts[k:]
		}
		previous[n] = scoreboard.Score(score - in.Delta)
		board := scoreboard.BoardID(r.Boards[n])
		place := slices.Index(in.Boards, board)
		if place < 0 {
			place = len(in.Boards) + slices.Index(in.Matched, board)
		}
		outcome.Receipts[place] = scoreboard.Receipt{
			User: in.User, Board: board, Event: in.Event, NewScore: scoreboard.Score(score), Previous: &previous[n],
			Applied: in.Delta, Version: version, RecordedAt: times[a.PairUsers[last-1]-1].UTC(),
		}
		score -= in.Delta
		version--
	}
}
