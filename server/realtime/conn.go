package realtime

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// conn is a connection without its socket: what it watches and when it is due.
type conn struct {
	hub    *Hub
	viewer Viewer
	out    transport
	limit  shape
	delta  bool

	ending atomic.Pointer[ending]
	beat   timer // keepalive, expiry, lifetime
	later  timer // frames held back by the cap

	// The loop's own, but for their first values. Unix nanoseconds.
	nextPing int64
	until    int64 // end of its lifetime; 0 for none

	mu      sync.Mutex
	turn    uint32 // whose turn it is among subs
	sentAt  uint32
	sent    []uint32 // when the last frames were sent, a ring of the cap's size; milliseconds of the hub
	subs    []*subscription
	replies []*frame // to commands
}

// transport is the way to the client. None of it blocks.
type transport interface {
	wake()            // something may be due
	ping()            // say something, so that the way stays open
	heard() time.Time // when the client was last heard of
	closing()         // the connection is ending: say so and be gone soon
	abort()           // be gone now
	kind() string     // label of metrics
}

// ending is why a connection ends.
type ending struct {
	code   int
	reason string
	bye    *frame // nil when there is nothing to say
}

// frameCap is how many frames a connection gets in any span, in milliseconds:
// a second's worth, or one where that is less.
func (o *Options) frameCap() (frames int, span uint32) {
	frames = max(o.FramesPerMinute/60, 1)
	return frames, uint32(frames * 60_000 / o.FramesPerMinute)
}

// maxReplies is how many unsent answers to commands a connection may have.
const maxReplies = 32

// open starts the life of an admitted c on the hub; not when that has closed.
func (c *conn) open(now time.Time) bool {
	o := c.hub.options.Load()
	frames, span := o.frameCap()
	c.sent = make([]uint32, frames)
	for i := range c.sent {
		c.sent[i] = c.hub.millis(now) - span
	}
	c.beat.conn, c.later.conn = c, c
	// Where all came at once, after a restart, they are not all pinged at once.
	c.nextPing = now.Add(rand.N(o.Ping)).UnixNano()
	if o.Lifetime > 0 {
		c.until = now.Add(o.Lifetime*3/4 + rand.N(o.Lifetime/2+1)).UnixNano()
	}
	if !c.hub.enter(c) {
		return false
	}
	c.hub.wheel.set(&c.beat, c.nextBeat())
	return true
}

// close ends the life of c on the hub and gives back all it held.
func (c *conn) close() {
	c.hub.wheel.stop(&c.beat)
	c.hub.wheel.stop(&c.later)
	c.mu.Lock()
	subs := c.subs
	c.subs = nil
	c.mu.Unlock()
	now := time.Now()
	for _, s := range subs {
		s.board.remove(s, now)
	}
	c.hub.leave(c)
}

func (c *conn) nextBeat() time.Time {
	next := min(c.nextPing, c.out.heard().Add(c.hub.options.Load().PongWait).UnixNano())
	if c.until != 0 {
		next = min(next, c.until)
	}
	if !c.viewer.Expires.IsZero() {
		next = min(next, c.viewer.Expires.UnixNano())
	}
	return time.Unix(0, next)
}

// fire does what a timer of c was set for.
func (c *conn) fire(t *timer, now time.Time) {
	if t == &c.later {
		c.out.wake()
		return
	}
	switch {
	case !c.viewer.Expires.IsZero() && !now.Before(c.viewer.Expires):
		c.finish(protocol.CloseToken, "token expired", c.hub.bye("token expired"))
		return
	case c.until != 0 && now.UnixNano() >= c.until:
		c.finish(closeRestart, "lifetime", c.hub.bye("lifetime"))
		return
	case now.Sub(c.out.heard()) >= c.hub.options.Load().PongWait:
		c.finish(protocol.CloseSlowConsumer, "no pong", nil)
		return
	case now.UnixNano() >= c.nextPing:
		c.out.ping()
		c.nextPing = now.Add(c.hub.options.Load().Ping).UnixNano()
	}
	c.hub.wheel.set(&c.beat, c.nextBeat())
}

// finish lets c end; the first reason counts.
func (c *conn) finish(code int, reason string, bye *frame) {
	if c.ending.CompareAndSwap(nil, &ending{code, reason, bye}) {
		c.out.closing()
	}
}

// eventID is the id of the last state of the first board, which is the only one
// where ids are used. The lock is held.
func (c *conn) eventID() string {
	if len(c.subs) == 0 {
		return ""
	}
	return c.subs[0].eventID()
}

// next returns the frame to write now, or nil. When the cap holds a frame back, it sets the time at which c is due. The lock
// is held.
func (c *conn) next(now time.Time) *frame {
	if len(c.replies) > 0 {
		f := c.replies[0]
		c.replies = c.replies[1:]
		return f
	}
	millis := c.hub.millis(now)
	_, span := c.hub.options.Load().frameCap()
	if since := millis - c.sent[c.sentAt]; since < span {
		c.hub.wheel.set(&c.later, now.Add(time.Duration(span-since)*time.Millisecond))
		return nil
	}
	for range c.subs {
		s := c.subs[c.turn%uint32(len(c.subs))]
		c.turn++
		if f := s.next(); f != nil {
			c.sent[c.sentAt] = millis
			c.sentAt = (c.sentAt + 1) % uint32(len(c.sent))
			return f
		}
	}
	return nil
}

// reply answers a command.
func (c *conn) reply(f *frame) {
	c.mu.Lock()
	full := len(c.replies) == maxReplies
	if !full {
		c.replies = append(c.replies, f)
	}
	c.mu.Unlock()
	if full {
		c.finish(protocol.CloseLimit, "too many commands", nil)
		return
	}
	c.out.wake()
}

// look returns a board that the viewer may see.
func (c *conn) look(ctx context.Context, id scoreboard.BoardID) (*board, error) {
	if c.viewer.CanSee != nil {
		if err := c.viewer.CanSee(ctx, id); err != nil {
			return nil, err
		}
	}
	b, err := c.hub.board(ctx, id)
	if err != nil {
		return nil, unavailable(err)
	}
	return b, nil
}

// subscribe looks and watches.
func (c *conn) subscribe(ctx context.Context, j Join) error {
	b, err := c.look(ctx, j.Board)
	if err != nil {
		return err
	}
	return c.watch(b, j)
}

// watch shows c a board from now on. Whoever may have the newest state already
// hears at once that the connection is there. A board that it already watches stays.
func (c *conn) watch(b *board, j Join) error {
	s := &subscription{
		conn: c, board: b, shape: c.limit, delta: c.delta,
		fresh: true, epoch: j.LastEpoch, version: j.LastVersion,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, have := range c.subs {
		if have.board.id == j.Board {
			return nil
		}
	}
	if len(c.subs) >= c.hub.options.Load().Boards {
		return scoreboard.Errorf(scoreboard.CodeRateLimited, "at most %d boards on one connection", c.hub.options.Load().Boards)
	}
	b.add(s)
	c.subs = append(c.subs, s)
	if j.LastEpoch != 0 {
		c.out.ping()
	}
	c.out.wake()
	return nil
}

func (c *conn) unsubscribe(id scoreboard.BoardID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.subs {
		if s.board.id == id {
			s.board.remove(s, time.Now())
			c.subs = slices.Delete(c.subs, i, i+1)
			return
		}
	}
}

// unavailable gives an error without a code one: the board could not be read.
func unavailable(err error) error {
	var known *scoreboard.Error
	if errors.As(err, &known) {
		return err
	}
	return &scoreboard.Error{
		Code: scoreboard.CodeUnavailable, Message: "the board cannot be read now",
		RetryAfter: time.Second, Err: err,
	}
}
