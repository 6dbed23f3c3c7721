package ledger

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Rows are the rows to write, column by column. Each is a ledger row and, if the
// score changed, an outbox row; the last row of a score is its new state. Optional
// columns end at the last row that has a value.
type Rows struct {
	Details
	Users, Boards    []string
	Hashes           [][]byte
	Applied          []int64
	Previous         []*int64
	Scores, Versions []int64
	RecordedAt       []time.Time
	Revisions        []int64
	OrderKeys        []int64
	ReachedAt        []time.Time
	Shards           []int16
	Changed          []bool // has an outbox row
	Last             []bool // is the new state of the score
	ActionUntil      []*time.Time
	Hidden, Empty    []bool // false behind the last row that is one of them
	// Uncounted is by how much Score.Uncounted has grown in the batch; 0 behind the last row of a correction.
	Uncounted []int64
	// Of boards with subscores; null on others, and behind the last row that has any. Subscores is what the event
	// submitted, and PreviousSubscores and NewSubscores are the user's before and after it.
	Subscores, PreviousSubscores, NewSubscores, SubKeys []*int64
	// Metadata is what the ledger keeps, StandingMetadata that of the new state of the score; null behind the
	// last row that has any.
	Metadata, StandingMetadata []*string
}

// Details are the columns of rows that tell how each increment was submitted. Optional
// ones end at the last row that has a value.
type Details struct {
	Events             [][16]byte
	EventTexts         []*string
	Deltas             []int64
	ClientTimes        []*time.Time
	Sources            []string
	Actions, Keys      []*string
	Signers, Addresses []*string
	Agents, Traces     []*string
	Countries          []*string
}

// add appends the details of an increment.
func (d *Details) add(in *scoreboard.Increment) {
	n := len(d.Events)
	d.Events, d.Deltas = append(d.Events, in.Event.UUID), append(d.Deltas, in.Delta)
	if !in.Event.IsUUID() {
		d.EventTexts = setOptional(d.EventTexts, n, in.Event.Text)
	}
	d.ClientTimes = setTime(d.ClientTimes, n, in.Client)
	d.Sources = append(d.Sources, string(in.Source))
	d.Actions = setOptional(d.Actions, n, in.Action)
	d.Keys = setOptional(d.Keys, n, in.KeyID)
	d.Signers = setOptional(d.Signers, n, in.Signer)
	d.Addresses = setOptional(d.Addresses, n, in.Address)
	d.Agents = setOptional(d.Agents, n, in.Agent)
	d.Countries = setOptional(d.Countries, n, in.Country)
	d.Traces = setOptional(d.Traces, n, in.Trace)
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Users) }

// add appends a row and returns its index.
func (r *Rows) add(
	in *scoreboard.Increment, hash [16]byte, receipt scoreboard.Receipt, board *scoreboard.Board, s *Score,
	changed bool,
	shard int16,
) int {
	n := len(r.Users)
	key, subKey := board.Keys(s.pair())
	if board.HasSubscores() {
		r.Subscores = setNumber(r.Subscores, n, new(int64(in.Submitted().Subscore)))
		r.PreviousSubscores = setNumber(r.PreviousSubscores, n, (*int64)(receipt.PreviousSubscore))
		r.NewSubscores = setNumber(r.NewSubscores, n, new(int64(receipt.NewSubscore)))
		r.SubKeys = setNumber(r.SubKeys, n, new(subKey))
	}
	r.Details.add(in)
	r.Users = append(r.Users, string(in.User))
	r.Boards = append(r.Boards, string(receipt.Board))
	r.Hashes = append(r.Hashes, hash[:])
	r.Applied = append(r.Applied, receipt.Applied)
	r.Previous = append(r.Previous, (*int64)(receipt.Previous))
	r.Scores = append(r.Scores, int64(receipt.NewScore))
	r.Versions = append(r.Versions, receipt.Version)
	r.RecordedAt = append(r.RecordedAt, receipt.RecordedAt)
	r.ActionUntil = setTime(r.ActionUntil, n, s.ActionUntil)
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

// setNumber is setOptional for a number; nil is null.
func setNumber(column []*int64, n int, v *int64) []*int64 {
	for len(column) < n {
		column = append(column, nil)
	}
	return append(column, v)
}

// HasSubscores reports whether a row is of a board with subscores.
func (r *Rows) HasSubscores() bool { return len(r.SubKeys) > 0 }

// discount sets by how much the user's uncounted rows have grown with row n.
func (r *Rows) discount(n int, uncounted int64) {
	for len(r.Uncounted) < n {
		r.Uncounted = append(r.Uncounted, 0)
	}
	r.Uncounted = append(r.Uncounted, uncounted)
}

// describe sets the metadata of the event of row n on its board, and of the score after it.
func (r *Rows) describe(n int, event, standing scoreboard.Metadata) {
	if event == "" && standing == "" {
		return
	}
	r.Metadata = setOptional(r.Metadata, n, string(event))
	r.StandingMetadata = setOptional(r.StandingMetadata, n, string(standing))
}

// hide sets whether the score of row n is hidden and whether it is empty.
func (r *Rows) hide(n int, hidden, empty bool) {
	for len(r.Hidden) < n {
		r.Hidden, r.Empty = append(r.Hidden, false), append(r.Empty, false)
	}
	r.Hidden, r.Empty = append(r.Hidden, hidden), append(r.Empty, empty)
}
