package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Connection is how the states of a watch come in.
type Connection string

// The kinds of connection, best first.
const (
	WebSocket    Connection = "ws"
	SSE          Connection = "sse"
	Polling      Connection = "polling"
	Disconnected Connection = "disconnected"
)

// State is the newest that a watch knows of a board. Entries stay what they
// were while the connection is away; HeardAt tells how old they may be.
type State struct {
	Board     string    `json:"board"` // the instance, for a periodic board
	Entries   []Entry   `json:"entries"`
	Version   int64     `json:"version"`
	Epoch     int64     `json:"epoch"`
	UpdatedAt time.Time `json:"updated_at,omitzero"` // the server's time of these entries
	// HeardAt is when the server last confirmed these entries, by this
	// machine's clock: with every frame, heartbeat or poll.
	HeardAt    time.Time  `json:"heard_at,omitzero"`
	Connection Connection `json:"connection"`
	Reconnects int        `json:"reconnects"` // times that it was lost and found again
	// Degraded says why the entries are not from a healthy ranking; empty
	// when they are.
	Degraded string `json:"degraded,omitempty"`
	// Me is the last change of the token's user, nil before the first.
	Me *Move `json:"me,omitempty"`
	// Err is why the connection is away, or on the last state of a channel
	// why the watch has ended.
	Err error `json:"-"`
}

// Move is a change of a user's own score or rank.
type Move struct {
	UserID       string `json:"user_id"`
	Score        int64  `json:"score"`
	Rank         int64  `json:"rank"` // 0 when the server did not say
	PreviousRank int64  `json:"previous_rank,omitempty"`
	version      int64
	epoch        int64
}

// WatchOptions are the choices of a watch.
type WatchOptions struct {
	Limit int // 10 rows, or 100; 0 is what the server shows (its setting reads.top_n)
	// Confirm is how often the server is asked on an idle WebSocket whether it
	// is still there, so that HeardAt stays as young; 0 leaves that to the
	// server's own heartbeat, every 30 s, which is all that SSE has.
	Confirm time.Duration
	// EventStream leaves WebSocket out, for networks that do not let it through.
	EventStream bool
}

// Watch follows a board (global when empty). The channel holds the newest
// state: a reader that is slow gets the latest and misses those between. It is
// closed when ctx ends or the client is closed, or after a state with Err when the server refuses this
// client for good (its token, its scope, an unknown board).
//
// The watch connects by WebSocket, else by server-sent events, and polls every
// 1 to 3 s while neither works, trying them again after a while. What is older
// than the version shown is ignored; every frame is a whole state, so a gap
// between versions needs no repair. A stream that comes back names the version
// that it has, and is sent nothing while that is the newest.
func (c *Client) Watch(ctx context.Context, board string, o WatchOptions) <-chan State {
	if board == "" {
		board = string(scoreboard.GlobalBoard)
	}
	w := &watcher{
		c: c, board: board, limit: o.Limit, streamOnly: o.EventStream, confirm: o.Confirm, out: make(chan State, 1),
		state: State{Board: board, Connection: Disconnected},
	}
	ctx, cancel := context.WithCancel(ctx)
	c.watches.Go(func() {
		defer cancel()
		defer context.AfterFunc(c.life, cancel)()
		w.run(ctx)
	})
	return w.out
}

type watcher struct {
	c     *Client
	board string
	limit int
	// streamOnly says that there is no WebSocket.
	streamOnly bool
	confirm    time.Duration
	out        chan State
	state      State
	ever       bool // has been connected before
	bye        time.Duration
}

// run ends only with ctx or when a poll, the last resort, is refused.
func (w *watcher) run(ctx context.Context) {
	defer close(w.out)
	pollFor := w.c.pace.pollFor
	for failures := 0; ; failures++ {
		lived, err := w.live(ctx)
		if ctx.Err() != nil {
			return
		}
		if w.state.Connection != Polling { // polls that work go on in a moment
			w.disconnected(err)
		}
		if lived {
			failures, pollFor = 0, w.c.pace.pollFor
		}
		wait := jitter(failures, w.c.pace.retryBase, w.c.pace.retryCap)
		if w.bye > 0 { // the server chose the moment, to spread its clients
			wait, w.bye = w.bye, 0
		}
		if sleep(ctx, wait) != nil {
			return
		}
		if lived {
			continue
		}
		if err := w.poll(ctx, pollFor); err != nil {
			if ctx.Err() == nil {
				w.disconnected(err)
			}
			return
		}
		pollFor = min(2*pollFor, w.c.pace.pollForCap)
	}
}

// live follows the stream by WebSocket, else by SSE, until it breaks. lived
// says that at least one frame came.
func (w *watcher) live(ctx context.Context) (lived bool, err error) {
	if w.streamOnly {
		return w.sse(ctx)
	}
	if lived, err = w.websocket(ctx); lived || ctx.Err() != nil {
		return lived, err
	}
	if lived, sseErr := w.sse(ctx); lived {
		return true, sseErr
	}
	return false, err
}

func (w *watcher) streamQuery() url.Values {
	query := boardQuery(w.board)
	setInt(query, "limit", int64(w.limit))
	return query
}

// prepare makes the request of a stream, which says what is known already.
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

// alive takes a sign of life that is no frame: what is shown still holds.
func (w *watcher) alive(kind Connection) {
	w.heard(kind)
	w.publish()
}

// errBye ends a stream that the server said goodbye on.
var errBye = errors.New("the server is closing the connection")

// frame takes one message of a stream.
func (w *watcher) frame(kind Connection, f *protocol.Frame) error {
	switch f.Type {
	case protocol.FrameUpdated:
		w.heard(kind)
		w.take(f.Epoch, f.Version, State{
			Board: f.Board, Entries: f.Top, UpdatedAt: f.TS,
			Degraded: degradedReason(f.Degraded, f.DegradedReason),
		})
	case protocol.FrameRank:
		w.heard(kind)
		w.moved(f)
	case protocol.FrameError: // the stream is refused: this client sends no commands
		code := scoreboard.Code(f.ErrorCode)
		return &Error{Op: "read the stream", Status: statusOf(code), Code: code, Message: f.Message, Attempts: 1}
	case protocol.FrameBye:
		// At least a moment, so that a server without an opinion is not hammered.
		asked := time.Duration(f.ReconnectAfterMS) * time.Millisecond
		w.bye = min(max(asked, w.c.pace.retryBase), w.c.pace.byeMax)
		return fmt.Errorf("%w: %s", errBye, f.Reason)
	}
	return nil // a frame of a newer protocol is not for this client
}

// take shows new entries unless they are older than those shown.
func (w *watcher) take(epoch, version int64, s State) {
	if epoch < w.state.Epoch || epoch == w.state.Epoch && version < w.state.Version {
		w.publish() // the age is news all the same
		return
	}
	w.state.Epoch, w.state.Version = epoch, version
	w.show(s)
}

func (w *watcher) show(s State) {
	w.state.Board, w.state.Entries = s.Board, s.Entries
	w.state.UpdatedAt, w.state.Degraded = s.UpdatedAt, s.Degraded
	w.publish()
}

func (w *watcher) moved(f *protocol.Frame) {
	m := Move{UserID: f.UserID, version: f.Version, epoch: f.Epoch}
	if f.Score != nil {
		m.Score = *f.Score
	}
	if f.Rank != nil {
		m.Rank = *f.Rank
	}
	if f.PreviousRank != nil {
		m.PreviousRank = *f.PreviousRank
	}
	if old := w.state.Me; old == nil || m.version >= old.version || m.epoch > old.epoch {
		w.state.Me = &m
	}
	w.publish()
}

// heard notes a sign of life by which a stream counts as connected.
func (w *watcher) heard(kind Connection) {
	if w.state.Connection == Disconnected && w.ever {
		w.state.Reconnects++
	}
	w.ever = true
	w.state.Connection, w.state.Err, w.state.HeardAt = kind, nil, w.c.now()
}

func (w *watcher) disconnected(err error) {
	w.state.Connection, w.state.Err = Disconnected, err
	w.publish()
}

// publish puts the state into the channel in place of one that was not read.
// The watcher is the only sender, so the second send cannot block.
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

func degradedReason(degraded bool, reason string) string {
	if degraded && reason == "" {
		return "unknown"
	}
	return reason
}
