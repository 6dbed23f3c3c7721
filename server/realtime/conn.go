package realtime

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Conn is a client's connection without its socket: its subscriptions, its
// timers and the messages that are due. A transport embeds it.
type Conn struct {
	hub     *Hub
	user    scoreboard.UserID
	network string // of the client, see scoreboard.ClientNetworks
	site    string // "" for none
	expires time.Time
	canSee  func(ctx context.Context, board scoreboard.BoardID) error
	hold    func(open bool) // nil for none
	holding bool
	out     Transport
	format  *Format
	limit   shape
	delta   bool // and the format has deltas
	friends bool // and the format has friends, and there is a user
	cohort  bool // likewise

	ending    atomic.Pointer[Ending]
	keepalive timer // pings, expiry, lifetime
	capped    timer // messages held back by the cap

	// Set by Open, then the loop's own. Unix nanoseconds.
	nextPing int64
	until    int64 // end of its lifetime; 0 for none

	mu      sync.Mutex
	next    uint32 // index of the subscription that is served next
	sentAt  uint32
	sent    []uint32 // when the last messages were sent, a ring of the cap's size; milliseconds of the hub
	full    uint32   // when the burst of its format is full again; milliseconds of the hub
	subs    []*subscription
	replies []*Message // to commands
}

// Transport carries messages to a client. None of its methods blocks.
type Transport interface {
	Wake()                // messages may be due
	Ping()                // write a keepalive
	LastHeard() time.Time // when the client last sent something
	Closing()             // the connection is ending: write the close, and close soon
	Abort()               // close now
	Kind() string         // label in metrics
}

// Ending is why a connection ends.
type Ending struct {
	Code   int // of a WebSocket's close
	Reason string
	Bye    *Message // nil for none
}

const (
	// maxReplies is how many unsent replies to commands a connection may have.
	maxReplies = 32

	// readTimeout bounds each read of a board.
	readTimeout = 2 * time.Second
)

// Init prepares c, which out carries, for Admit.
func (c *Conn) Init(h *Hub, v *Viewer, out Transport) {
	c.hub, c.out = h, out
	// User and address may be parts of the request line, which would live as
	// long as the connection, token included.
	c.user = scoreboard.UserID(strings.Clone(string(v.User)))
	c.network, c.site = scoreboard.ClientNetworks(strings.Clone(v.Address), h.options.Load().IPv6Prefix)
	c.expires, c.canSee, c.hold = v.Expires, v.CanSee, v.Hold
	c.format = cmp.Or(v.Format, Native)
	c.limit, c.delta = shapeOf(v.Limit), v.Delta && c.format.Delta != nil
	c.cohort = v.Cohort && c.user != "" && c.format.Cohort != nil && h.Cohorts != nil
	c.friends = v.Friends && c.user != "" && c.format.Friends != nil && h.friends != nil
}

// Hub returns the hub of c.
func (c *Conn) Hub() *Hub { return c.hub }

// Format returns the format of c's messages.
func (c *Conn) Format() *Format { return c.format }

// Open starts the timers of an admitted connection. False: the hub has closed.
func (c *Conn) Open(now time.Time) bool {
	o := c.hub.options.Load()
	messages, span := o.messageCap(c.format)
	c.sent = make([]uint32, messages)
	for i := range c.sent {
		c.sent[i] = c.hub.millis(now) - span
	}
	c.full = c.hub.millis(now)
	c.keepalive.conn, c.capped.conn = c, c
	// Random, so that clients that came together are not all pinged together.
	c.nextPing = now.Add(rand.N(o.Ping)).UnixNano()
	if o.Lifetime > 0 {
		c.until = now.Add(o.Lifetime*3/4 + rand.N(o.Lifetime/2+1)).UnixNano()
	}
	if !c.hub.register(c) {
		return false
	}
	c.hub.wheel.set(&c.keepalive, c.nextTimer())
	return true
}

// Hold reports to the viewer's Hold that c has opened; Close, that it has ended. It is
// called once nothing can reject c any more.
func (c *Conn) Hold() {
	if c.hold != nil {
		c.holding = true
		go c.hold(true)
	}
}

// Close removes c from the hub and releases everything that it holds there.
func (c *Conn) Close() {
	c.hub.wheel.stop(&c.keepalive)
	c.hub.wheel.stop(&c.capped)
	c.mu.Lock()
	subs := c.subs
	c.subs = nil
	c.mu.Unlock()
	now := time.Now()
	for _, s := range subs {
		s.board.remove(s, now)
	}
	c.Leave()
	if c.holding {
		go c.hold(false)
	}
}

func (c *Conn) nextTimer() time.Time {
	next := min(c.nextPing, c.out.LastHeard().Add(c.hub.options.Load().PongWait).UnixNano())
	if c.until != 0 {
		next = min(next, c.until)
	}
	if !c.expires.IsZero() {
		next = min(next, c.expires.UnixNano())
	}
	return time.Unix(0, next)
}

// fire handles a timer of c.
func (c *Conn) fire(t *timer, now time.Time) {
	if t == &c.capped {
		c.out.Wake()
		return
	}
	switch {
	case !c.expires.IsZero() && !now.Before(c.expires):
		c.Finish(wire.CloseToken, "token expired", c.bye("token expired"))
		return
	case c.until != 0 && now.UnixNano() >= c.until:
		c.Finish(wire.CloseRestart, "lifetime", c.bye("lifetime"))
		return
	case now.Sub(c.out.LastHeard()) >= c.hub.options.Load().PongWait:
		c.Finish(wire.CloseSlowConsumer, "no pong", nil)
		return
	case now.UnixNano() >= c.nextPing:
		c.out.Ping()
		c.nextPing = now.Add(c.hub.options.Load().Ping).UnixNano()
	}
	c.hub.wheel.set(&c.keepalive, c.nextTimer())
}

// Finish ends c. Only the first call counts.
func (c *Conn) Finish(code int, reason string, bye *Message) {
	if c.ending.CompareAndSwap(nil, &Ending{code, reason, bye}) {
		c.out.Closing()
	}
}

// SetEnding records why c ends, where its transport has written the close.
func (c *Conn) SetEnding(code int, reason string) {
	c.ending.CompareAndSwap(nil, &Ending{Code: code, Reason: reason})
}

// Ending returns why c ends; nil while it does not.
func (c *Conn) Ending() *Ending { return c.ending.Load() }

// EventID returns the id of the last state of the first board, the only one
// where ids are used.
func (c *Conn) EventID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subs) == 0 {
		return ""
	}
	return c.subs[0].eventID()
}

// Next returns the message to write now, or nil. Boards take turns. Where the cap
// holds a message back, a timer wakes c when it may be sent.
func (c *Conn) Next(now time.Time) *Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.replies) > 0 {
		f := c.replies[0]
		c.replies = c.replies[1:]
		return f
	}
	if c.Ending() != nil { // what is published since may be of a lower epoch
		return nil
	}
	millis := c.hub.millis(now)
	if wait := c.held(millis); wait > 0 {
		c.hub.wheel.set(&c.capped, now.Add(time.Duration(wait)*time.Millisecond))
		return nil
	}
	for range c.subs {
		s := c.subs[c.next%uint32(len(c.subs))]
		c.next++
		if f := s.next(); f != nil {
			c.count(millis)
			return f
		}
	}
	return nil
}

// held is for how many milliseconds the cap holds messages back.
func (c *Conn) held(millis uint32) uint32 {
	_, span := c.hub.options.Load().messageCap(c.format)
	wait := uint32(0)
	if since := millis - c.sent[c.sentAt]; since < span {
		wait = span - since
	}
	if burst := uint32(c.format.Burst); burst > 0 {
		refill := uint32(c.format.Refill.Milliseconds())
		if ahead := c.ahead(millis); ahead > (burst-1)*refill {
			wait = max(wait, ahead-(burst-1)*refill)
		}
	}
	return wait
}

// ahead is the time until c's burst is full again.
func (c *Conn) ahead(millis uint32) uint32 {
	ahead := c.full - millis
	if ahead > uint32(c.format.Burst)*uint32(c.format.Refill.Milliseconds()) {
		return 0 // it is full: millis has passed it
	}
	return ahead
}

// count records a message that is sent.
func (c *Conn) count(millis uint32) {
	c.sent[c.sentAt] = millis
	c.sentAt = (c.sentAt + 1) % uint32(len(c.sent))
	if c.format.Burst > 0 {
		c.full = millis + c.ahead(millis) + uint32(c.format.Refill.Milliseconds())
	}
}

// bye makes the message that announces the end of c, with a random reconnect delay; nil
// where the format has none.
func (c *Conn) bye(reason string) *Message {
	if c.format.Bye == nil {
		return nil
	}
	return c.format.label(c.hub.metrics, c.format.Bye(reason, rand.N(c.hub.options.Load().ReconnectWithin)))
}

// ReplyError replies with an error about a board, where the format has errors.
func (c *Conn) ReplyError(err error, board scoreboard.BoardID) {
	if c.format.Error != nil {
		c.reply(c.format.label(c.hub.metrics, c.format.Error(err, board)))
	}
}

// reply sends a reply to a command, regardless of the cap.
func (c *Conn) reply(f *Message) {
	c.mu.Lock()
	full := len(c.replies) == maxReplies
	if !full {
		c.replies = append(c.replies, f)
	}
	c.mu.Unlock()
	if full {
		c.Finish(wire.CloseLimit, "too many commands", nil)
		return
	}
	c.out.Wake()
}

// TakeReplies returns the replies that have not been sent.
func (c *Conn) TakeReplies() []*Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	replies := c.replies
	c.replies = nil
	return replies
}

// Subscribe subscribes c to a board. A board that it is subscribed to already
// stays as it is.
func (c *Conn) Subscribe(ctx context.Context, v *Viewer) error {
	subscribe, err := c.Resolve(ctx, v)
	if err != nil {
		return err
	}
	return subscribe()
}

// Resolve checks the viewer and reads the board, and returns the second half of
// Subscribe, after which messages are written.
func (c *Conn) Resolve(ctx context.Context, v *Viewer) (subscribe func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if c.canSee != nil {
		if err := c.canSee(ctx, v.Board); err != nil {
			return nil, err
		}
	}
	b, err := c.hub.board(ctx, v.Board)
	if err != nil {
		return nil, unavailable(err)
	}
	return func() error { return c.subscribe(b, v) }, nil
}

func (c *Conn) subscribe(b *board, v *Viewer) error {
	s := &subscription{
		conn: c, board: b, shape: c.limit, fresh: true, epoch: v.LastEpoch, version: v.LastVersion,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, have := range c.subs {
		if have.board.id == b.id {
			return nil
		}
	}
	if limit := c.hub.options.Load().Boards; len(c.subs) >= limit {
		return scoreboard.Errorf(wire.CodeRateLimited, "at most %d boards on one connection", limit)
	}
	b.add(s)
	c.subs = append(c.subs, s)
	if v.LastEpoch != 0 {
		c.out.Ping() // the first message may take long
	}
	c.out.Wake()
	return nil
}

// Unsubscribe ends the subscription to a board.
func (c *Conn) Unsubscribe(id scoreboard.BoardID) {
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

// unavailable makes an error without a code an unavailable.
func unavailable(err error) error {
	var known *scoreboard.Error
	if errors.As(err, &known) {
		return err
	}
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "the board cannot be read at the moment",
		RetryAfter: time.Second, Err: err,
	}
}
