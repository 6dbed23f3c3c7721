package store

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// rows are the columns of sqlWrite, in its order. A column of optional values
// stays empty until a row has one.
type rows struct {
	users, boards    []string
	events           [][16]byte
	texts            []*string
	hashes           [][]byte
	deltas, applied  []int64
	previous         []*int64
	scores, versions []int64
	recorded         []time.Time
	clients          []*time.Time
	sources          []string
	actions, keys    []*string
	signers          []*string
	addresses        []*string
	agents, traces   []*string
	revisions        []int64
	orderKeys        []int64
	reached          []time.Time
	shards           []int16
	changed, last    []bool
	hidden, empty    []bool // set for amendments only
	countries        []*string
}

func (r *rows) len() int { return len(r.users) }

// add appends a row and returns its index.
func (r *rows) add(in *scoreboard.Increment, hash [16]byte, receipt scoreboard.Receipt, key int64, s *scoreRow, changed bool, shard int16) int {
	n := len(r.users)
	r.users = append(r.users, string(in.User))
	r.boards = append(r.boards, string(receipt.Board))
	r.events = append(r.events, in.Event.UUID)
	if !in.Event.IsUUID() {
		r.texts = put(r.texts, n, in.Event.Text)
	}
	r.hashes = append(r.hashes, hash[:])
	r.deltas = append(r.deltas, in.Delta)
	r.applied = append(r.applied, receipt.Applied)
	r.previous = append(r.previous, (*int64)(receipt.Previous))
	r.scores = append(r.scores, int64(receipt.NewScore))
	r.versions = append(r.versions, receipt.Version)
	r.recorded = append(r.recorded, receipt.RecordedAt)
	if !in.Client.IsZero() {
		for len(r.clients) < n {
			r.clients = append(r.clients, nil)
		}
		r.clients = append(r.clients, &in.Client)
	}
	r.sources = append(r.sources, string(in.Source))
	r.actions = put(r.actions, n, in.Action)
	r.keys = put(r.keys, n, in.KeyID)
	r.signers = put(r.signers, n, in.Signer)
	r.addresses = put(r.addresses, n, in.Address)
	r.agents = put(r.agents, n, in.Agent)
	r.countries = put(r.countries, n, in.Country)
	r.traces = put(r.traces, n, in.Trace)
	r.revisions = append(r.revisions, s.revision)
	r.orderKeys = append(r.orderKeys, key)
	r.reached = append(r.reached, s.reached)
	r.shards = append(r.shards, shard)
	r.changed = append(r.changed, changed)
	r.last = append(r.last, false)
	return n
}

// put sets column[n] to v, filling the rows before with nulls; "" is null.
func put(column []*string, n int, v string) []*string {
	if v == "" {
		return column
	}
	for len(column) < n {
		column = append(column, nil)
	}
	return append(column, &v)
}

func (r *rows) arguments() []any {
	return []any{
		r.users, r.boards, r.events, r.texts, r.hashes, r.deltas, r.applied,
		r.previous, r.scores, r.versions, r.recorded, r.clients, r.sources, r.actions,
		r.keys, r.signers, r.addresses, r.agents, r.traces, r.revisions, r.orderKeys,
		r.reached, r.shards, r.changed, r.last, r.hidden, r.empty, r.countries,
	}
}

// hide says of the row n whether its score is hidden, and why.
func (r *rows) hide(n int, hidden, empty bool) {
	for len(r.hidden) < n {
		r.hidden, r.empty = append(r.hidden, false), append(r.empty, false)
	}
	r.hidden, r.empty = append(r.hidden, hidden), append(r.empty, empty)
}
