package realtime

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Format is how the messages of a stream are written, and what its clients may expect.
// A message is written once for each state, number of rows and format, so a format is
// made once and shared by its viewers; its functions are pure. They return nil for
// what the format does not have.
type Format struct {
	Name string // label "dialect" of metrics; "" is the native format

	// State writes a state. Its id is set by the hub.
	State func(*StateView) *Message
	// Delta writes what changed since the rows before, which the client has at
	// version base. nil: clients always get the whole state.
	Delta func(v *StateView, before []scoreboard.Entry, base int64) *Message
	// Rank writes the viewer's own standing. nil: viewers get none.
	Rank func(*RankView) *Message
	// Tier writes that the viewer is in another tier. nil: viewers are not told.
	Tier func(*TierView) *Message
	// Friends writes the standings of the viewer's friends. nil: viewers get none.
	Friends func(*FriendsView) *Message
	// Cohort writes the standings of the viewer's cohort. nil: viewers get none.
	Cohort func(*CohortView) *Message
	// Bye announces that the server closes the connection, and how long the client
	// should wait before it reconnects. nil: the close code has to do.
	Bye func(reason string, reconnect time.Duration) *Message
	// Error reports an error about a board. nil: the close code has to do.
	Error func(err error, board scoreboard.BoardID) *Message

	Commands bool // clients may subscribe to more boards; otherwise their messages are ignored
	RowsOnly bool // a state is sent only if its rows differ, not because it is degraded or rebuilt
	Reached  bool // a state is sent only once it is known when each score was reached

	// ConnectionsPerUser is a limit beside the setting of that name: the lower one holds. 0
	// is none. Connections in other formats count too.
	ConnectionsPerUser int
	// A connection gets at most Burst states and ranks at intervals of Interval, and then
	// one every Refill; a pause saves up for the next burst. Burst 0 keeps the setting.
	Burst            int
	Interval, Refill time.Duration
}

// StateView is a state of a board with as many rows as the client requested. It must
// not be changed.
type StateView struct {
	Board    scoreboard.BoardID // the instance, where the client subscribed to a family
	Epoch    int64
	Version  int64
	TS       time.Time // when the board last changed
	AsOf     time.Time // every change committed before it is included
	Degraded string    // why this is not from a healthy ranking; empty if it is
	// Doubt is the state of the board's ranking, CATCHING_UP or DEGRADED_REBUILDING; empty if it is healthy.
	Doubt  scoreboard.BoardState
	Window time.Duration // between two messages while the node is behind; 0 while it is not
	Rows   []scoreboard.Entry
	// Subscores says that the board has them.
	Subscores bool
	Reached   []time.Time // when each of Rows was reached; nil if unknown, see Format.Reached
}

// resumable reports whether a client that has the state may go on from it: of another one, the same version
// may have other rows once the ranking is healthy.
func (v *StateView) resumable() bool { return v.Degraded == "" && v.Doubt == "" }

// RankView is a change of a viewer's own standing.
type RankView struct {
	Board    scoreboard.BoardID
	User     scoreboard.UserID
	Score    scoreboard.Score
	Subscore *scoreboard.Score // nil on a board without subscores
	Rank     int64
	Previous *int64 // rank before; nil if unknown
	Version  int64  // the user's; 0 until the user moved
	Epoch    int64  // of the board
	TS       time.Time
}

// TierView is a change of the tier that a viewer is in.
type TierView struct {
	RankView
	Tier, PreviousTier string // "" for none
}

// FriendsView is the standings of a viewer and the viewer's friends, best first.
type FriendsView struct {
	Board   scoreboard.BoardID
	User    scoreboard.UserID
	Rows    []scoreboard.Entry
	Version int64 // of the board's top
	Epoch   int64
	TS      time.Time // every change committed before it is included

	SharedRanks bool // equal scores have the same rank
	Subscores   bool // the board has them
}

// CohortView is the standings of a viewer's cohort, best first, with ranks in it; 0 and no rows without one.
type CohortView struct {
	FriendsView
	Cohort   int64
	Division int
}

// label is what a message of f is counted as.
func (f *Format) label(m *metrics, made *Message) *Message {
	if made != nil {
		for encoding, transport := range transports {
			made.sent[encoding] = m.sent.WithLabelValues(f.Name, made.Kind, transport)
		}
	}
	return made
}

// messageCache keeps the messages of one value, one for each format that was requested.
type messageCache struct {
	first atomic.Pointer[cachedMessage]
	mu    sync.Mutex // held while a message is written
}

type cachedMessage struct {
	format  *Format
	message *Message
	next    *cachedMessage
}

// get returns the message of a format, which write makes for the first caller.
func (c *messageCache) get(f *Format, m *metrics, write func() *Message) *Message {
	if have := c.find(f); have != nil {
		return have.message
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.find(f); have != nil {
		return have.message
	}
	timer := prometheus.NewTimer(m.encode)
	message := f.label(m, write())
	timer.ObserveDuration()
	c.first.Store(&cachedMessage{f, message, c.first.Load()})
	return message
}

func (c *messageCache) find(f *Format) *cachedMessage {
	for have := c.first.Load(); have != nil; have = have.next {
		if have.format == f {
			return have
		}
	}
	return nil
}
