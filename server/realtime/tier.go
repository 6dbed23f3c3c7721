package realtime

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tierState is the tier that a viewer is in, as far as the viewer's standing is known; a
// standing has one only on a board with tiers.
type tierState struct {
	seq      uint64 // 0: there is nothing to tell
	board    scoreboard.BoardID
	view     TierView
	messages messageCache
}

// boardTiers are the tiers of a board, and what they depend on beside a standing.
type boardTiers struct {
	tiers scoreboard.Tiers
	order scoreboard.Order
}

// tiersNow returns the tiers of the board's newest state.
func (b *board) tiersNow() (t boardTiers) {
	t.tiers, t.order = b.hub.Tiers(b.latest.Board)
	return t
}

// seeTier sets the tier of a known standing among total users, and tells the user's connections
// if it is another than before. It reports whether it has.
func (st *standing) seeTier(t boardTiers, total int64, ts time.Time) bool {
	if len(t.tiers) == 0 || !st.known {
		return false
	}
	name := t.tiers.Name(t.tiers.Of(t.order, st.rank, total, st.pair.Score))
	before, board := st.tier.Load(), st.board.latest.Board
	next := &tierState{board: board, view: TierView{
		RankView: RankView{
			Board: board, User: st.user, Score: st.pair.Score, Subscore: st.subscore(), Rank: st.rank,
			Version: st.version, Epoch: st.epoch, TS: scoreboard.WritableTime(ts),
		},
		Tier: name,
	}}
	if before == nil { // the user has joined
		st.tier.Store(next)
		return false
	}
	if before.board == board { // else another period has begun, with everybody in no tier
		next.view.PreviousTier = before.view.Tier
	}
	if name == next.view.PreviousTier {
		return false
	}
	next.seq = before.seq + 1
	st.tier.Store(next)
	for _, sub := range st.subs {
		sub.conn.out.Wake()
	}
	return true
}

// leaveTier records that the user has no standing, without telling: the first one is in a tier
// that the user was not in before.
func (st *standing) leaveTier(t boardTiers) {
	if len(t.tiers) == 0 {
		return
	}
	next := &tierState{board: st.board.latest.Board}
	if before := st.tier.Load(); before != nil {
		next.seq = before.seq
	}
	st.tier.Store(next)
}

// nextTier returns the message that says the viewer's new tier, if it is due.
func (s *subscription) nextTier(t *tierState) *Message {
	format := s.conn.format
	if t == nil || t.seq == s.tierSeq || format.Tier == nil {
		return nil
	}
	s.tierSeq = t.seq
	return t.messages.get(format, s.conn.hub.metrics, func() *Message { return format.Tier(&t.view) })
}
