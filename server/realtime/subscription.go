package realtime

// subscription is a connection's position on a board: the last state it was sent.
// All fields but index and board are guarded by the connection's lock.
type subscription struct {
	conn  *Conn
	board *board
	index int // in board.subs, guarded by the board's lock
	shape shape

	seq     uint64 // of the state sent last
	epoch   int64  // of the state that the client has
	version int64
	fresh   bool // nothing was sent yet: epoch and version are the client's claim
	doubted bool // the state sent last was not resumable

	standing *standing // of the viewer; nil for anonymous ones
	rankSeq  uint64
	tierSeq  uint64

	circle     *circle // of the viewer's friends; nil: not asked for
	friendsSeq uint64
	cohort     *circle // of the viewer's cohort; nil: not asked for
	cohortSeq  uint64
}

// eventID is the id of the state that the client has.
func (s *subscription) eventID() string { return eventID(s.epoch, s.version, !s.doubted) }

// next returns the message that is due, or nil: always the newest state. The rank
// is loaded first: it is stored after the state it comes from, which must not
// reach the client later than the rank.
func (s *subscription) next() *Message {
	var r *rankState
	var t *tierState
	if s.standing != nil {
		r, t = s.standing.sent.Load(), s.standing.tier.Load()
	}
	if f := s.nextState(); f != nil {
		return f
	}
	format := s.conn.format
	if r != nil && r.seq != s.rankSeq {
		s.rankSeq = r.seq
		return r.messages.get(format, s.conn.hub.metrics, func() *Message { return format.Rank(&r.view) })
	}
	if f := s.nextTier(t); f != nil {
		return f
	}
	if f := s.circle.newer(&s.friendsSeq); f != nil {
		return f.messages.get(format, s.conn.hub.metrics,
			func() *Message { return format.Friends(&f.view.FriendsView) })
	}
	if f := s.cohort.newer(&s.cohortSeq); f != nil {
		return f.messages.get(format, s.conn.hub.metrics, func() *Message { return format.Cohort(&f.view) })
	}
	return nil
}

func (s *subscription) nextState() *Message {
	p, format := s.board.published[s.shape].Load(), s.conn.format
	if p == nil {
		return nil
	}
	seq := p.seqFor(format)
	if seq == s.seq {
		return nil
	}
	same := p.Epoch == s.epoch
	// The client came from a node that is ahead and has a newer state.
	if same && p.Version < s.version {
		return nil
	}
	if s.fresh && same && p.Version == s.version && p.resumable() && !p.reshown {
		s.fresh, s.seq = false, seq
		return nil
	}
	if !p.complete(format) {
		return nil // the board is being read
	}
	if !s.fresh && seq > s.seq+1 {
		s.conn.hub.metrics.skipped.Add(float64(seq - s.seq - 1))
	}
	var f *Message
	if s.conn.delta && same && !s.fresh && !s.doubted && p.resumable() && seq == s.seq+1 &&
		!p.tied && // a client sorts by rank, which does not tell the order of rows that share one
		!p.reshown { // removed rows would name users that are hidden now
		f = p.delta(format, s.version)
	}
	if f == nil {
		f = p.snapshot(format)
	}
	s.seq, s.epoch, s.version = seq, p.Epoch, p.Version
	s.fresh, s.doubted = false, !p.resumable()
	return f
}
