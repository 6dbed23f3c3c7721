package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Connection is the kind of connection that delivers the states of a watch.
type Connection string

// The kinds of connection, best first.
const (
	WebSocket    Connection = "ws"
	SSE          Connection = "sse"
	Polling      Connection = "polling"
	Disconnected Connection = "disconnected"
)

// State is the latest state of a board. While disconnected, Entries keeps the last
// entries; HeardAt shows how old they may be.
type State struct {
	Board     string    `json:"board"` // for a periodic board, the current period
	Entries   []Entry   `json:"entries"`
	Version   int64     `json:"version"`
	Epoch     int64     `json:"epoch"`
	UpdatedAt time.Time `json:"updated_at,omitzero"` // the server's time of these entries
	// HeardAt is when the server last confirmed these entries, by a state, heartbeat
	// or poll, on this machine's clock.
	HeardAt    time.Time  `json:"heard_at,omitzero"`
	Connection Connection `json:"connection"`
	Reconnects int        `json:"reconnects"`
	// Degraded is why the entries are not from a healthy ranking; empty if they are.
	Degraded string `json:"degraded,omitempty"`
	// Me is the latest change of the token's user, nil before the first.
	Me *Move `json:"me,omitempty"`
	// Tier is the latest change of that user's tier, on a board with tiers; nil before the first.
	Tier *TierMove `json:"tier,omitempty"`
	// Err is why the watch is disconnected, why it polls instead of following a stream
	// or, on the last state, why it ended.
	Err error `json:"-"`
}

// Move is a change of the user's own score or rank.
type Move struct {
	UserID       string `json:"user_id"`
	Score        int64  `json:"score"`
	Subscore     *int64 `json:"subscore,omitempty"` // nil on a board without subscores
	Rank         int64  `json:"rank"`               // 0 if unknown
	PreviousRank int64  `json:"previous_rank,omitempty"`
}

// TierMove is a move of the user to another tier of the board.
type TierMove struct {
	UserID       string `json:"user_id"`
	Tier         string `json:"tier"`          // empty for none
	PreviousTier string `json:"previous_tier"` // empty for none
}

// WatchOptions configure a watch.
type WatchOptions struct {
	Limit int // 10 or 100 rows; 0 means the server's setting reads.top_n
	// Confirm is the ping interval of an idle WebSocket, which keeps HeardAt recent.
	// 0 sends no pings: the server's heartbeat every 30 s remains, as with SSE.
	Confirm time.Duration
	// EventStream disables WebSocket, for networks that block it.
	EventStream bool
}

// Watch follows a board (global when empty). The channel holds the latest state; a
// slow reader misses intermediate ones. The channel is closed when ctx ends or the
// client is closed, or after a state with Err if the server rejects this client
// permanently (its token, its scope, an unknown board).
//
// The watch connects by WebSocket, else by server-sent events. While neither works
// it polls every 1 to 3 s and tries them again after a while. It ignores versions
// older than the current one, and epochs: a server may show the one before a rebuild
// for a moment. If nothing but a lower epoch arrives for 5 s, the server's data was
// replaced, and the watch continues from there. Every one is a whole state, so a gap
// between versions needs no repair. A stream that reconnects sends its version; the server sends
// nothing until there is a newer one.
func (c *Client) Watch(ctx context.Context, board string, o WatchOptions) <-chan State {
	if board == "" {
		board = wire.GlobalBoard
	}
	w := &watcher{
		c: c, board: board, limit: o.Limit, streamOnly: o.EventStream, confirm: o.Confirm, out: make(chan State, 1),
		state: State{Board: board, Connection: Disconnected},
	}
	ctx, cancel := context.WithCancel(ctx)
	c.watches.Go(func() {
		defer cancel()
		defer context.AfterFunc(c.lifetime, cancel)()
		w.run(ctx)
	})
	return w.out
}

type watcher struct {
	c     *Client
	board string
	limit int
	// streamOnly disables WebSocket.
	streamOnly      bool
	confirm         time.Duration
	out             chan State
	state           State
	connectedBefore bool
	streamErr       error         // why the last stream ended or was refused
	reconnectAfter  time.Duration // set by the server when it closes a stream
	lower           *lowerEpoch   // nil unless the latest state that arrived has a lower epoch
	moved, tiered   position      // of the messages that Me and Tier are from
}

// position is the place of a message among those about the user.
type position struct{ version, epoch int64 }

// advance moves to a message, and reports whether it is not older than the one before.
func (p *position) advance(f *wire.Message) bool {
	if f.Version < p.version && f.Epoch <= p.epoch {
		return false
	}
	*p = position{f.Version, f.Epoch}
	return true
}

// lowerEpoch is the latest of the states with a lower epoch than the one shown.
type lowerEpoch struct {
	since          time.Time // when the first arrived
	epoch, version int64
	state          State
}

// run ends with ctx, or when a poll, the last resort, is rejected.
func (w *watcher) run(ctx context.Context) {
	defer close(w.out)
	pollFor := w.c.timeouts.pollFor
	for failures := 0; ; failures++ {
		received, err := w.live(ctx)
		if ctx.Err() != nil {
			return
		}
		w.streamErr = err
		if w.state.Connection != Polling { // polling works and continues shortly
			w.disconnected(err)
		}
		if received {
			failures, pollFor = 0, w.c.timeouts.pollFor
		}
		wait := jitter(failures, w.c.timeouts.retryBase, w.c.timeouts.retryCap)
		if w.reconnectAfter > 0 { // the server spreads its clients
			wait, w.reconnectAfter = w.reconnectAfter, 0
		}
		if sleep(ctx, wait) != nil {
			return
		}
		if received {
			continue
		}
		if err := w.poll(ctx, pollFor); err != nil {
			if ctx.Err() == nil {
				w.disconnected(err)
			}
			return
		}
		pollFor = min(2*pollFor, w.c.timeouts.pollForCap)
	}
}

// live follows the stream by WebSocket, else by SSE, until it breaks. received is
// true if at least one message arrived.
func (w *watcher) live(ctx context.Context) (received bool, err error) {
	if w.streamOnly {
		return w.sse(ctx)
	}
	if received, err = w.websocket(ctx); received || ctx.Err() != nil {
		return received, err
	}
	if received, sseErr := w.sse(ctx); received {
		return true, sseErr
	}
	return false, err
}

func (w *watcher) streamQuery() url.Values {
	query := boardQuery(w.board)
	setInt(query, "limit", int64(w.limit))
	return query
}

// prepare builds the request of a stream, with the version that the watch already
// has.
func (w *watcher) prepare(ctx context.Context) (*http.Request, error) {
	u := w.c.url("/v1/realtime/leaderboard", w.streamQuery())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := w.c.prepare(req); err != nil {
		return nil, err
	}
	if w.state.Epoch != 0 && w.state.Degraded == "" {
		req.Header.Set("Last-Event-ID", fmt.Sprintf("%d:%d", w.state.Epoch, w.state.Version))
	}
	return req, nil
}

// heartbeat handles a message that is not a state: the state is still current.
func (w *watcher) heartbeat(kind Connection) {
	w.heard(kind)
	if l := w.lower; l != nil {
		w.apply(l.epoch, l.version, l.state) // still the server's
		return
	}
	w.publish()
}

// errClosing ends a stream after a bye message.
var errClosing = errors.New("the server is closing the connection")

// message handles one message of a stream.
func (w *watcher) message(kind Connection, f *wire.Message) error {
	switch f.Type {
	case wire.MessageUpdated:
		w.heard(kind)
		w.apply(f.Epoch, f.Version, State{
			Board: f.Board, Entries: f.Top, UpdatedAt: f.TS,
			Degraded: degradedReason(f.Degraded, f.DegradedReason, f.BoardState),
		})
	case wire.MessageRank:
		w.heard(kind)
		w.ownChange(f)
	case wire.MessageTier:
		w.heard(kind)
		if w.tiered.advance(f) {
			w.state.Tier = &TierMove{UserID: f.UserID, Tier: f.Tier, PreviousTier: f.PreviousTier}
		}
		w.publish()
	case wire.MessageError: // about the stream itself: this client sends no commands
		code := wire.Code(f.ErrorCode)
		return &Error{Op: "read the stream", Status: statusOf(code), Code: code, Message: f.Message, Attempts: 1}
	case wire.MessageBye:
		// Wait at least a moment, even if the server did not ask for a delay.
		asked := time.Duration(f.ReconnectAfterMS) * time.Millisecond
		w.reconnectAfter = min(max(asked, w.c.timeouts.retryBase), w.c.timeouts.maxReconnectAfter)
		return fmt.Errorf("%w: %s", errClosing, f.Reason)
	}
	return nil // ignore message types of newer protocols
}

// apply shows new entries unless they are older than the current ones.
func (w *watcher) apply(epoch, version int64, s State) {
	if epoch < w.state.Epoch && !w.acceptsLower(epoch, version, s) ||
		epoch == w.state.Epoch && version < w.state.Version {
		w.publish() // HeardAt has changed
		return
	}
	w.lower = nil // also by the state shown, from another node
	w.state.Epoch, w.state.Version = epoch, version
	w.show(s)
}

// acceptsLower reports whether a state with a lower epoch replaces the one shown:
// nothing else has arrived for a while.
func (w *watcher) acceptsLower(epoch, version int64, s State) bool {
	since := w.c.now()
	if w.lower != nil {
		since = w.lower.since
	}
	w.lower = &lowerEpoch{since, epoch, version, s}
	if w.c.now().Sub(since) < w.c.timeouts.acceptLower {
		return false
	}
	w.moved, w.tiered = position{}, position{} // any change from now on is newer
	return true
}

func (w *watcher) show(s State) {
	w.state.Board, w.state.Entries = s.Board, s.Entries
	w.state.UpdatedAt, w.state.Degraded = s.UpdatedAt, s.Degraded
	w.publish()
}

func (w *watcher) ownChange(f *wire.Message) {
	m := Move{UserID: f.UserID, Subscore: f.Subscore}
	if f.Score != nil {
		m.Score = *f.Score
	}
	if f.Rank != nil {
		m.Rank = *f.Rank
	}
	if f.PreviousRank != nil {
		m.PreviousRank = *f.PreviousRank
	}
	if w.moved.advance(f) {
		w.state.Me = &m
	}
	w.publish()
}

// heard records a message from the server: the watch is connected.
func (w *watcher) heard(kind Connection) {
	if w.state.Connection == Disconnected && w.connectedBefore {
		w.state.Reconnects++
	}
	w.connectedBefore = true
	w.state.Connection, w.state.Err, w.state.HeardAt = kind, nil, w.c.now()
	if kind == Polling {
		w.state.Err = w.streamErr
	}
}

func (w *watcher) disconnected(err error) {
	w.state.Connection, w.state.Err = Disconnected, err
	w.publish()
}

// publish replaces an unread state in the channel. The watcher is the only sender,
// so the second send cannot block.
func (w *watcher) publish() {
	s := w.state
	select {
	case w.out <- s:
		return
	default:
	}
	select {
	case <-w.out:
	default:
	}
	w.out <- s
}

// degradedReason is why rows are not from a healthy ranking, or may lack changes; "" if neither.
func degradedReason(degraded bool, reason, state string) string {
	switch {
	case reason != "":
		return reason
	case degraded:
		return "unknown"
	case state != "HEALTHY":
		return strings.ToLower(state)
	}
	return ""
}
