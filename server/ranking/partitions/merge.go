package partitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// mergeAttempts bounds how often a top is merged again because another process stored a
// newer one of some partition meanwhile. One of them always succeeds.
const mergeAttempts = 10

// Merging is what changed in a board's partitions since a merged top was last merged.
type Merging struct {
	Applied   bool
	Changes   []piece.UserChanges
	moved     []byte // for the notice
	hidden    bool
	Trace     string // of one sampled change, or empty
	Forwarded bool   // all changes come from a live board that is laid out otherwise
}

// Add adds the changes of a partition, of which some were applied.
func (m *Merging) Add(changes piece.UserChanges, applied int64, forwarded bool) {
	m.Applied = m.Applied || applied > 0
	m.Forwarded = m.Forwarded && forwarded
	m.Changes = append(m.Changes, changes)
	for _, c := range changes {
		m.moved = piece.AppendMoved(m.moved, c)
		m.hidden = m.hidden || c.Hidden
	}
}

// words is the end of the notice.
func (m *Merging) words() []byte {
	switch {
	case m.hidden:
		return append(m.moved, piece.Hides...)
	case m.Trace != "":
		return append(append(append(m.moved, piece.Traced...), m.Trace...), ' ')
	}
	return m.moved
}

// MergeTop reads the first rows of all partitions, and stores the merged top unless a
// newer one is stored. When it returns, the merged top includes every change that was applied
// before the call. A process that stops for a minute between reading and storing stores
// nothing: a sequence has moved on by then, or the epoch.
//
// It returns scoreboard.ErrNotLoaded where a partition is missing, was not swapped in with
// the others, or has lost changes that the merged top includes; a rebuild is due then.
func (r *Boards) MergeTop(ctx context.Context, l piece.Layout, m *Merging) error {
	contended := false
	for attempt := range mergeAttempts {
		got, rows, err := r.AskFirst(ctx, l)
		if err != nil {
			return piece.Translate(fmt.Errorf("merge the top of board %s: %w", l.Board, err))
		}
		if !got.complete() {
			return scoreboard.ErrNotLoaded
		}
		if got.sameEpoch() {
			contended = true
			if !dominates(got.seqs(), got.top.seqs) {
				return scoreboard.ErrNotLoaded
			}
			done, err := r.StoreTop(ctx, l, got, rows, m)
			if done || err != nil {
				return err
			}
		}
		select {
		case <-time.After(ReadPause << min(attempt, 4)):
		case <-ctx.Done():
			return piece.Translate(ctx.Err())
		}
	}
	if !contended {
		return scoreboard.ErrNotLoaded // an interrupted rebuild has left partitions of two epochs
	}
	return piece.Unavailable("the ranking is unavailable",
		fmt.Errorf("merge the top of board %s: %w", l.Board, errContended))
}

// AskFirst asks for the first rows of a board. The merged top that is stored says where they end, unless
// users have left it: then few rows of each partition are enough.
func (r *Boards) AskFirst(ctx context.Context, l piece.Layout) (*reading, []row, error) {
	top, _, err := r.askTop(ctx, l, nil)
	if err != nil {
		return nil, nil, err
	}
	if top != nil && top.seqs != nil {
		// Rows that cannot be read are replaced.
		if rows, err := unpackRows(top.orders, top.rows); err == nil && len(rows) == scoreboard.TopSize {
			last := rows[len(rows)-1]
			got, err := r.askParts(ctx, l, top, &query{positions: []Position{{
				at: &position{last.key, last.member}, Before: scoreboard.TopSize,
			}}})
			if err != nil || !got.complete() || got.includesFirst() {
				return got, got.firstRows(), err
			}
		}
	}
	got, err := r.askParts(ctx, l, top, &query{positions: []Position{{from: scoreboard.TopSize}}})
	return got, got.firstRows(), err
}

// includesFirst reports whether the rows before the position are all rows there, and enough for a
// top.
func (got *reading) includesFirst() bool {
	for _, p := range got.parts {
		if p.upTo[0] > scoreboard.TopSize {
			return false
		}
	}
	return got.upTo(0) >= scoreboard.TopSize
}

// firstRows returns the rows of a merged top; nil for a reading that is not complete.
func (got *reading) firstRows() []row {
	if got == nil || !got.complete() {
		return nil
	}
	rows := got.rows(0)
	return rows[:min(len(rows), scoreboard.TopSize)]
}

// StoreTop stores rows, the first of got. False: a newer top is stored, or one of another
// epoch.
func (r *Boards) StoreTop(ctx context.Context, l piece.Layout, got *reading, rows []row, m *Merging) (bool, error) {
	updated := got.top.updated
	for _, p := range got.parts {
		updated = max(updated, p.updated)
	}
	seqs := got.seqs()
	if !m.Applied && slices.Equal(seqs, got.top.seqs) {
		return true, nil
	}
	top, members := packRows(got.top.orders, rows)
	n, err := r.merge.Run(ctx, r.Redis, []string{r.Keys.Top(l.Board)}, piece.Channel, string(l.Board), got.top.epoch,
		formatSequences(seqs), updated, got.total(), m.words(), top, members).Int64()
	if err != nil {
		return false, piece.Translate(fmt.Errorf("store the merged top of board %s: %w", l.Board, err))
	}
	return n == 1, nil
}

var errContended = errors.New("other processes kept storing newer ones")

func formatSequences(seqs []int64) string {
	var b []byte
	for i, n := range seqs {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(b)
}

// packRows packs rows as first_rows in put.lua does, and once more with the whole member.
func packRows(o piece.Orders, rows []row) (top, members []byte) {
	for i := range rows {
		member := rows[i].member
		top = appendRow(top, rows[i].key, o.Tie(member), string(o.User(member)))
		members = appendRow(members, rows[i].key, "", member)
	}
	return top, members
}

func appendRow(b []byte, key int64, head, name string) []byte {
	b = append(strconv.AppendInt(b, int64(len(head)+len(name)), 10), ' ')
	b = append(strconv.AppendInt(b, key, 10), ' ')
	return append(append(b, head...), name...)
}

// unpackRows is the inverse for whole members.
func unpackRows(o piece.Orders, packed string) ([]row, error) {
	rows := make([]row, 0, scoreboard.TopSize)
	for packed != "" {
		length, rest, ok := strings.Cut(packed, " ")
		key, rest, ok2 := strings.Cut(rest, " ")
		n, err := strconv.Atoi(length)
		if !ok || !ok2 || err != nil || n <= o.Width() || n > len(rest) {
			return nil, fmt.Errorf("read the merged top of a board: row %d is malformed", len(rows)+1)
		}
		k, err := piece.ParseKey(key)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{k, rest[:n]})
		packed = rest[n:]
	}
	return rows, nil
}
