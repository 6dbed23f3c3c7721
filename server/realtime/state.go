package realtime

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/protocol"
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
// frames are encoded when first needed.
type state struct {
	seq      uint64 // incremented when clients would see a difference
	board    scoreboard.BoardID
	epoch    int64
	version  int64
	ts       time.Time
	degraded string
	window   time.Duration // 0 unless widened
	rows     []scoreboard.Entry
	previous []scoreboard.Entry // the rows of seq−1

	encodeSeconds prometheus.Observer
	once          sync.Once
	full          *Frame
	mu            sync.Mutex
	deltas        map[int64]*Frame
}

// maxBases is how many bases a state encodes deltas for. Usually there is one; a
// second where a client resumed from another node's later version.
const maxBases = 4

// differs reports whether a client that has p would see a difference in s.
func (s *state) differs(p *state) bool {
	return s.epoch != p.epoch || s.board != p.board || s.degraded != p.degraded || !slices.Equal(s.rows, p.rows)
}

func (s *state) head(kind string) stateHead {
	return stateHead{
		Type: kind, Board: string(s.board), Version: s.version, Epoch: s.epoch, TS: s.ts,
		Degraded: s.degraded != "", DegradedReason: s.degraded, WindowMS: s.window.Milliseconds(),
	}
}

func (s *state) snapshot() *Frame {
	s.once.Do(func() {
		start := time.Now()
		s.full = newFrame(protocol.FrameUpdated, updatedFrame{s.head(protocol.FrameUpdated), protocol.Entries(s.rows)})
		s.full.ID = eventID(s.epoch, s.version, s.degraded != "")
		s.encodeSeconds.Observe(time.Since(start).Seconds())
	})
	return s.full
}

// delta is the frame for a client that has the rows of seq−1 at version base,
// or nil beyond maxBases.
func (s *state) delta(base int64) *Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.deltas[base]; ok || len(s.deltas) == maxBases {
		return f
	}
	start := time.Now()
	changed, removed := difference(s.previous, s.rows)
	f := newFrame(protocol.FrameDelta, deltaFrame{s.head(protocol.FrameDelta), base, changed, removed})
	f.ID = eventID(s.epoch, s.version, s.degraded != "")
	if s.deltas == nil {
		s.deltas = make(map[int64]*Frame, 1)
	}
	s.deltas[base] = f
	s.encodeSeconds.Observe(time.Since(start).Seconds())
	return f
}
