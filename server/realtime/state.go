package realtime

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// shape is how many rows a subscription shows.
type shape uint8

const (
	usual shape = iota // as many as Options.Rows says
	top10
	top100
	shapes
)

func shapeOf(limit int) shape {
	switch {
	case limit == 0:
		return usual
	case limit > 10:
		return top100
	}
	return top10
}

func (h *Hub) rows(s shape) int {
	switch s {
	case usual:
		return h.options.Load().Rows
	case top100:
		return scoreboard.TopSize
	}
	return 10
}

// state is what subscribers of one shape are shown of a board. It is never
// changed, only replaced; its frames are encoded when somebody first needs them.
type state struct {
	seq      uint64 // rises when the rows do, or what is said of them; same seq, same rows
	board    scoreboard.BoardID
	epoch    int64
	version  int64
	ts       time.Time
	degraded string
	window   time.Duration // not 0 while the window is widened
	rows     []scoreboard.Entry
	before   []scoreboard.Entry // the rows of seq−1

	encoding prometheus.Observer
	once     sync.Once
	full     *frame
	mu       sync.Mutex
	deltas   map[int64]*frame
}

// maxBases is how many bases a state encodes deltas for. There is one as a
// rule; a second when a client resumed from another node's later version.
const maxBases = 4

// shows reports whether a subscriber who has p would see a difference in s.
func (s *state) shows(p *state) bool {
	return s.epoch != p.epoch || s.board != p.board || s.degraded != p.degraded || !slices.Equal(s.rows, p.rows)
}

func (s *state) head(kind string) stateHead {
	return stateHead{
		Type: kind, Board: string(s.board), Version: s.version, Epoch: s.epoch, TS: s.ts,
		Degraded: s.degraded != "", DegradedReason: s.degraded, WindowMS: s.window.Milliseconds(),
	}
}

func (s *state) snapshot() *frame {
	s.once.Do(func() {
		start := time.Now()
		s.full = newFrame(protocol.FrameUpdated, updatedFrame{s.head(protocol.FrameUpdated), protocol.Entries(s.rows)})
		s.full.id = eventID(s.epoch, s.version, s.degraded != "")
		s.encoding.Observe(time.Since(start).Seconds())
	})
	return s.full
}

// delta is the frame for a client that has the rows of seq−1 at version base,
// or nil when too many different bases were asked for.
func (s *state) delta(base int64) *frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.deltas[base]; ok || len(s.deltas) == maxBases {
		return f
	}
	start := time.Now()
	changed, removed := difference(s.before, s.rows)
	f := newFrame(protocol.FrameDelta, deltaFrame{s.head(protocol.FrameDelta), base, changed, removed})
	f.id = eventID(s.epoch, s.version, s.degraded != "")
	if s.deltas == nil {
		s.deltas = make(map[int64]*frame, 1)
	}
	s.deltas[base] = f
	s.encoding.Observe(time.Since(start).Seconds())
	return f
}
