package realtime

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Source reads the states of boards.
type Source interface {
	// ReadTop returns the current head of a board, degraded or not; a family
	// means its current instance. An unknown board is a not_found.
	ReadTop(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Top, error)
	// ReadPlaces returns the standings of users, at most 100, without those of hidden ones.
	ReadPlaces(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) (*scoreboard.List, error)
}

// Options are the settings of a hub. A duration or size of 0 takes its default;
// for the limits at the end 0 is off.
type Options struct {
	Window            time.Duration // at most one message in it; 200 ms
	MaxWindow         time.Duration // to which the window widens under load; 1 s
	Lag               time.Duration // beyond it the window widens; 1 s
	MessagesPerMinute int           // to one connection; 600, which is 10 in any second
	Ping              time.Duration // interval of pings and SSE comments; 30 s
	PongWait          time.Duration // a connection silent for so long is closed; 60 s
	SlowAfter         time.Duration // a connection whose write stalls for so long is closed; 10 s
	CheckEvery        time.Duration // a board without notices is read again after it; 1 s
	Linger            time.Duration // a board without subscribers is kept for it; 1 min
	Boards            int           // subscriptions of one connection; 10
	RankLookups       int           // users whose ranks are read in a second; 20,000
	FriendLookups     int           // reads of users' friends a second; 100
	Rows              int           // of a board, unless the client requests another number; 10
	IPv6Prefix        int           // bits of an IPv6 address that are one client; 64

	DrainPercent    int           // of the connections closed each DrainEvery; 2
	DrainEvery      time.Duration // 100 ms
	ReconnectWithin time.Duration // reconnect_after_ms is random below it; 2 s

	Off                   bool          // no connections: clients poll instead
	Lifetime              time.Duration // connections end after 0.75 to 1.25 of it
	ConnectionsPerUser    int
	ConnectionsPerAddress int
	AnonymousPerAddress   int // connections without a user
	ConnectionsPerNode    int
	JoinsPerSecond        int
}

func (o *Options) setDefaults() {
	durations := []struct {
		setting *time.Duration
		def     time.Duration
	}{
		{&o.Window, 200 * time.Millisecond},
		{&o.MaxWindow, time.Second},
		{&o.Lag, time.Second},
		{&o.Ping, 30 * time.Second},
		{&o.PongWait, time.Minute},
		{&o.SlowAfter, 10 * time.Second},
		{&o.CheckEvery, time.Second},
		{&o.Linger, time.Minute},
		{&o.DrainEvery, 100 * time.Millisecond},
		{&o.ReconnectWithin, 2 * time.Second},
	}
	for _, d := range durations {
		if *d.setting <= 0 {
			*d.setting = d.def
		}
	}
	sizes := []struct {
		setting *int
		def     int
	}{
		{&o.MessagesPerMinute, 600},
		{&o.Boards, scoreboard.MaxBoards},
		{&o.RankLookups, 20_000},
		{&o.FriendLookups, 100},
		{&o.Rows, 10},
		{&o.IPv6Prefix, scoreboard.DefaultClientBits},
		{&o.DrainPercent, 2},
	}
	for _, s := range sizes {
		if *s.setting <= 0 {
			*s.setting = s.def
		}
	}
	o.MaxWindow = max(o.MaxWindow, o.Window)
}

// messageCap returns how many messages a connection gets in any span, in
// milliseconds: a second's worth, or one where the cap is lower than that.
func (o *Options) messageCap(f *Format) (messages int, span uint32) {
	if f.Burst > 0 {
		return 1, uint32(f.Interval.Milliseconds())
	}
	messages = max(o.MessagesPerMinute/60, 1)
	return messages, uint32(messages * 60_000 / o.MessagesPerMinute)
}

// offRetry is Retry-After while streams are off.
const offRetry = 30 * time.Second

// Configure applies other options, to open connections too. With Off the hub
// accepts no connections and closes a fifth of the open ones at each call: if
// all were closed at once, all would reconnect at once.
func (h *Hub) Configure(o Options) {
	o.setDefaults()
	if before := h.options.Swap(&o); before.Rows != o.Rows {
		h.markAllChanged()
	}
	h.window.set(o.Window, o.MaxWindow, o.Lag)
	if o.Off {
		h.mu.RLock()
		share := len(h.conns)/5 + 20
		h.mu.RUnlock()
		h.dismiss(share)
	}
}

// Options returns the current settings.
func (h *Hub) Options() *Options { return h.options.Load() }

// markAllChanged makes the loop publish every board again.
func (h *Hub) markAllChanged() {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, b := range h.boards {
		b.mu.Lock()
		loaded := b.latest != nil // or its first read is under way
		b.mu.Unlock()
		if loaded {
			h.markChanged(b)
		}
	}
}
