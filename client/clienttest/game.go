package clienttest

import (
	"cmp"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// game is the state of the only board, "global", guarded by the server's lock.
type game struct {
	board    scoreboard.Board
	users    map[string]*player
	events   map[[2]string]recorded
	version  int64
	epoch    int64
	log      []entry
	degraded string
}

type player struct {
	user    string
	score   int64
	reached int // order in which scores were reached; it decides ties
	version int64
}

type recorded struct {
	hash    [16]byte
	receipt protocol.Receipt
}

func (g *game) reset() {
	g.users, g.events = map[string]*player{}, map[[2]string]recorded{}
	g.epoch, g.version = 1, 1
	g.board = scoreboard.Board{
		ID: scoreboard.GlobalBoard, Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest,
		MinDelta: 1, MaxDelta: 1_000_000, MinScore: -scoreboard.MaxScore, MaxScore: scoreboard.MaxScore,
	}
}

// record counts an increment as the real ledger does.
func (g *game) record(r *protocol.IncrementRequest) (protocol.Receipt, error) {
	user, err := scoreboard.ParseUserID(r.UserID)
	if err != nil {
		return protocol.Receipt{}, err
	}
	event, err := scoreboard.ParseEventID(user, r.EventID)
	if err != nil {
		return protocol.Receipt{}, err
	}
	if r.Board != "" && r.Board != string(g.board.ID) {
		return protocol.Receipt{}, scoreboard.Errorf(scoreboard.CodeNotFound, "board %q not found", r.Board)
	}
	in := scoreboard.Increment{User: user, Delta: r.Delta, Boards: []scoreboard.BoardID{g.board.ID}, Action: r.Action}
	hash := in.PayloadHash()
	key := [2]string{r.UserID, scoreboard.FormatUUID(event.UUID)}
	if known, ok := g.events[key]; ok {
		if known.hash != hash {
			return protocol.Receipt{}, scoreboard.Errorf(scoreboard.CodeEventConflict,
				"the event id was used for another increment")
		}
		receipt := known.receipt
		receipt.Replayed = true
		return receipt, nil
	}
	if err := g.board.CheckDelta(r.Delta); err != nil {
		return protocol.Receipt{}, err
	}
	receipt := g.apply(r)
	g.events[key] = recorded{hash: hash, receipt: receipt}
	return receipt, nil
}

func (g *game) apply(r *protocol.IncrementRequest) protocol.Receipt {
	p := g.users[r.UserID]
	if p == nil {
		p = &player{user: r.UserID}
		g.users[r.UserID] = p
	}
	previous := p.score
	g.version++
	p.score, p.reached = p.score+r.Delta, len(g.events)
	p.version++
	rank := g.rank(r.UserID)
	g.log = append(g.log, entry{r.UserID, protocol.StatementEntry{
		EventID: r.EventID, Board: string(g.board.ID), Delta: r.Delta, PreviousScore: &previous, NewScore: p.score,
		Version: p.version, RecordedAt: time.Now().UTC(), Action: r.Action, KeyID: r.KeyID, Address: "127.0.0.1",
	}})
	return protocol.Receipt{
		UserID: r.UserID, Board: string(g.board.ID), NewScore: p.score, PreviousScore: &previous, Rank: &rank,
		Version: p.version, ProcessedEventID: r.EventID, Applied: r.Delta,
		RecordedAt: time.Now().UTC(), Status: protocol.StatusDone,
	}
}

// compare orders by score, highest first, then by which user reached it first.
func compare(a, b *player) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return a.reached - b.reached
}

func (g *game) entries() []protocol.Entry {
	players := make([]*player, 0, len(g.users))
	for _, p := range g.users {
		players = append(players, p)
	}
	slices.SortFunc(players, compare)
	entries := make([]protocol.Entry, len(players))
	for i, p := range players {
		entries[i] = protocol.Entry{Rank: int64(i + 1), UserID: p.user, Score: p.score}
	}
	return entries
}

// rank returns a user's rank; 0 for a user without a score.
func (g *game) rank(user string) int64 {
	own := g.users[user]
	if own == nil {
		return 0
	}
	rank := int64(1)
	for _, p := range g.users {
		if compare(p, own) < 0 {
			rank++
		}
	}
	return rank
}

// Set sets users' scores, as if recorded now; of equal scores the first ranks best.
func (s *Server) Set(entries ...protocol.Entry) {
	s.mu.Lock()
	for i, e := range entries {
		p := s.game.users[e.UserID]
		if p == nil {
			p = &player{user: e.UserID}
			s.game.users[e.UserID] = p
		}
		p.score, p.reached = e.Score, i
	}
	s.game.version++
	s.mu.Unlock()
	s.changed()
}

// Rebuild starts a new epoch, whose versions start at the beginning.
func (s *Server) Rebuild() {
	s.mu.Lock()
	s.game.epoch, s.game.version = s.game.epoch+1, 1
	s.mu.Unlock()
	s.changed()
}

// Degrade marks reads as degraded by a reason, until it is called with "".
func (s *Server) Degrade(reason string) {
	s.mu.Lock()
	s.game.degraded = reason
	s.mu.Unlock()
	s.changed()
}

// changed wakes the streams.
func (s *Server) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.subs {
		select {
		case sub <- struct{}{}:
		default:
		}
	}
}
