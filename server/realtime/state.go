package realtime

import (
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// shape is how many rows a subscription has.
type shape uint8

const (
	defaultRows shape = iota // Options.Rows
	top10
	top100
	shapes
)

func shapeOf(limit int) shape {
	switch {
	case limit == 0:
		return defaultRows
	case limit > 10:
		return top100
	}
	return top10
}

func (h *Hub) rows(s shape) int {
	switch s {
	case defaultRows:
		return h.options.Load().Rows
	case top100:
		return scoreboard.TopSize
	}
	return 10
}

// state is what is published of a board for one shape. It is immutable; its
// messages are encoded when first needed.
type state struct {
	StateView
	seq      uint64             // incremented when clients would see a difference
	rowsSeq  uint64             // incremented when its rows differ
	previous []scoreboard.Entry // the rows of seq−1
	tied     bool               // rows share a rank
	reshown  bool               // another state of this version had other rows: the hidden users have changed

	metrics *metrics
	trace   *messageTrace // of a change that s shows first; nil: none is traced
	full    messageCache
	mu      sync.Mutex
	deltas  map[deltaOf]*Message
}

// deltaOf is what a delta is for.
type deltaOf struct {
	format *Format
	base   int64
}

// maxDeltas is how many deltas a state encodes. Usually there is one; a second
// where a client resumed from another node's later version.
const maxDeltas = 4

// differs reports whether a client that has p would see a difference in s.
func (s *state) differs(p *state) bool {
	return s.Epoch != p.Epoch || s.Degraded != p.Degraded || s.Doubt != p.Doubt || s.rowsDiffer(p)
}

func (s *state) rowsDiffer(p *state) bool { return s.Board != p.Board || !slices.Equal(s.Rows, p.Rows) }

// follow makes s the state after p.
func (s *state) follow(p *state) {
	s.seq, s.rowsSeq, s.previous = p.seq+1, p.rowsSeq, p.Rows
	if s.rowsDiffer(p) {
		s.rowsSeq++
	}
}

// replace makes s another view of what clients saw in p.
func (s *state) replace(p *state) { s.seq, s.rowsSeq, s.previous = p.seq, p.rowsSeq, p.previous }

// seqFor is the number of s among the states of a format.
func (s *state) seqFor(f *Format) uint64 {
	if f.RowsOnly {
		return s.rowsSeq
	}
	return s.seq
}

// complete reports whether s has what a format writes.
func (s *state) complete(f *Format) bool { return !f.Reached || len(s.Reached) == len(s.Rows) }

func (s *state) snapshot(f *Format) *Message {
	return s.full.get(f, s.metrics, func() *Message { return s.named(f.State(&s.StateView)) })
}

// delta is the message for a client that has the rows of seq−1 at version base,
// or nil beyond maxDeltas.
func (s *state) delta(format *Format, base int64) *Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := deltaOf{format, base}
	if f, ok := s.deltas[of]; ok || len(s.deltas) == maxDeltas {
		return f
	}
	start := time.Now()
	f := format.label(s.metrics, s.named(format.Delta(&s.StateView, s.previous, base)))
	if s.deltas == nil {
		s.deltas = make(map[deltaOf]*Message, 1)
	}
	s.deltas[of] = f
	s.metrics.encode.Observe(time.Since(start).Seconds())
	return f
}

// named gives a message the id of s.
func (s *state) named(f *Message) *Message {
	f.ID, f.trace = eventID(s.Epoch, s.Version, s.resumable()), s.trace
	return f
}
