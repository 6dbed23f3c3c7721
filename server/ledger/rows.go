package ledger

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Rows are the rows to write, column by column. Each is a ledger row and, if the
// score changed, an outbox row; the last row of a score is its new state. Optional
// columns end at the last row that has a value.
type Rows struct {
	Users, Boards      []string
	Events             [][16]byte
	EventTexts         []*string
	Hashes             [][]byte
	Deltas, Applied    []int64
	Previous           []*int64
	Scores, Versions   []int64
	RecordedAt         []time.Time
	ClientTimes        []*time.Time
	Sources            []string
	Actions, Keys      []*string
	Signers, Addresses []*string
	Agents, Traces     []*string
	Countries          []*string
	Revisions          []int64
	OrderKeys          []int64
	ReachedAt          []time.Time
	Shards             []int16
	Changed            []bool // has an outbox row
	Last               []bool // is the new state of the score
	ActionUntil        []*time.Time
	Hidden, Empty      []bool // set by corrections only
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Users) }

// add appends a row and returns its index.
func (r *Rows) add(
	in *scoreboard.Increment, hash [16]byte, receipt scoreboard.Receipt, key int64, s *Score, changed bool, shard int16,
) int {
	n := len(r.Users)
	r.Users = append(r.Users, string(in.User))
	r.Boards = append(r.Boards, string(receipt.Board))
	r.Events = append(r.Events, in.Event.UUID)
	if !in.Event.IsUUID() {
		r.EventTexts = setOptional(r.EventTexts, n, in.Event.Text)
	}
	r.Hashes = append(r.Hashes, hash[:])
	r.Deltas = append(r.Deltas, in.Delta)
	r.Applied = append(r.Applied, receipt.Applied)
	r.Previous = append(r.Previous, (*int64)(receipt.Previous))
	r.Scores = append(r.Scores, int64(receipt.NewScore))
	r.Versions = append(r.Versions, receipt.Version)
	r.RecordedAt = append(r.RecordedAt, receipt.RecordedAt)
	r.ClientTimes = setTime(r.ClientTimes, n, in.Client)
	r.ActionUntil = setTime(r.ActionUntil, n, s.ActionUntil)
	r.Sources = append(r.Sources, string(in.Source))
	r.Actions = setOptional(r.Actions, n, in.Action)
	r.Keys = setOptional(r.Keys, n, in.KeyID)
	r.Signers = setOptional(r.Signers, n, in.Signer)
	r.Addresses = setOptional(r.Addresses, n, in.Address)
	r.Agents = setOptional(r.Agents, n, in.Agent)
	r.Countries = setOptional(r.Countries, n, in.Country)
	r.Traces = setOptional(r.Traces, n, in.Trace)
	r.Revisions = append(r.Revisions, s.Revision)
	r.OrderKeys = append(r.OrderKeys, key)
	r.ReachedAt = append(r.ReachedAt, s.ReachedAt)
	r.Shards = append(r.Shards, shard)
	r.Changed = append(r.Changed, changed)
	r.Last = append(r.Last, false)
	return n
}

// setOptional sets column[n] to v and fills the gap before it with nulls; "" is null.
func setOptional(column []*string, n int, v string) []*string {
	if v == "" {
		return column
	}
	for len(column) < n {
		column = append(column, nil)
	}
	return append(column, &v)
}

// setTime is setOptional for a time; zero is null.
func setTime(column []*time.Time, n int, v time.Time) []*time.Time {
	if v.IsZero() {
		return column
	}
	for len(column) < n {
		column = append(column, nil)
	}
	return append(column, &v)
}

// hide sets whether the score of row n is hidden and whether it is empty.
func (r *Rows) hide(n int, hidden, empty bool) {
	for len(r.Hidden) < n {
		r.Hidden, r.Empty = append(r.Hidden, false), append(r.Empty, false)
	}
	r.Hidden, r.Empty = append(r.Hidden, hidden), append(r.Empty, empty)
}
