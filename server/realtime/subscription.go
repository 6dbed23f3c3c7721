package realtime

// subscription is one connection's mark on one board: what it was sent last.
// Its fields but index and board are guarded by the connection's lock.
type subscription struct {
	conn  *conn
	board *board
	index int // in board.subs, guarded by the board's lock
	shape shape
	delta bool

	seq     uint64 // of the state sent last
	epoch   int64  // of what the client has, sent here or before it came
	version int64
	fresh   bool // nothing was sent yet: epoch and version are the client's word
	cloudy  bool // what was sent last was degraded

	standing *standing // the viewer's own; nil for none
	rankSeq  uint64
}

// eventID is the id of what the client has.
func (s *subscription) eventID() string { return eventID(s.epoch, s.version, s.cloudy) }

// next returns the frame that s is due, or nil. It is always the newest state,
// whatever was skipped. The rank is looked at first: it is set after the state
// that it comes from, which must not reach the client behind it.
func (s *subscription) next() *frame {
	var r *rankState
	if s.standing != nil {
		r = s.standing.sent.Load()
	}
	if f := s.nextState(); f != nil {
		return f
	}
	if r == nil || r.seq == s.rankSeq {
		return nil
	}
	s.rankSeq = r.seq
	return r.frame
}

func (s *subscription) nextState() *frame {
	p := s.board.published[s.shape].Load()
	if p == nil || p.seq == s.seq {
		return nil
	}
	same := p.epoch == s.epoch
	// The client came from a node that is ahead: it has something newer.
	if same && p.version < s.version {
		return nil
	}
	if s.fresh && same && p.version == s.version && p.degraded == "" {
		s.fresh, s.seq = false, p.seq
		return nil
	}
	if !s.fresh && p.seq > s.seq+1 {
		s.conn.hub.metrics.skipped.Add(float64(p.seq - s.seq - 1))
	}
	var f *frame
	if s.delta && same && !s.fresh && !s.cloudy && p.degraded == "" && p.seq == s.seq+1 {
		f = p.delta(s.version)
	}
	if f == nil {
		f = p.snapshot()
	}
	s.seq, s.epoch, s.version = p.seq, p.epoch, p.version
	s.fresh, s.cloudy = false, p.degraded != ""
	return f
}
