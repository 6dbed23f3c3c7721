package api

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Call is one request of a dialect, and the operations that its handler may call.
type Call struct {
	Caller *auth.Claims

	operations *dialectOperations
	gin        *gin.Context
	dialect    *Dialect
	rejection  error // the client is over its limit: reads answer from the cache, or with it
}

// dialectOperations are what the native handlers call, too. A component that this process does
// not have is nil, and the routes that need it do not exist.
type dialectOperations struct {
	admission    *admission
	submitter    Submitter
	events       Events
	access       *boardAccess
	reads        Leaderboard
	pages        *topPages
	lookups      *lookups
	reasons      *reasons
	show         func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
	streamTokens *auth.StreamTokens
	policy       *atomic.Pointer[Policy]
}

// Anonymous reports whether the caller has no token.
func (c *Call) Anonymous() bool { return c.Caller == anonymous }

// Body returns the request's body, which must be JSON of at most 4 KiB.
func (c *Call) Body() ([]byte, error) { return readBody(c.gin, maxBody) }

// Param returns a parameter of the path.
func (c *Call) Param(name string) string { return c.gin.Param(name) }

// Query returns a parameter of the query, "" for none.
func (c *Call) Query(name string) string { return c.gin.Query(name) }

// QueryInt parses an integer of the query; absent is returned without one.
func (c *Call) QueryInt(name string, absent, lowest, highest int) (int, error) {
	return queryInt(c.gin, name, absent, lowest, highest)
}

// Header returns a header of the request, "" for none. Several of one name are an error:
// a proxy may have read another one.
func (c *Call) Header(name string) (string, error) {
	if len(c.gin.Request.Header.Values(name)) > 1 {
		return "", scoreboard.Invalid(name, "duplicate header %s", name)
	}
	return c.gin.GetHeader(name), nil
}

// SetHeader sets a header of the response.
func (c *Call) SetHeader(name, value string) { c.gin.Writer.Header().Set(name, value) }

// TopN is the number of rows of the setting reads.top_n.
func (c *Call) TopN() int { return c.operations.policy.Load().TopN }

// Write is a score that a request submits, as its fields were sent.
type Write struct {
	User, Board, Action      string
	Event                    string // id, as the client sent it
	ServerEvent              string // id instead, of which the client knows nothing; "" for none
	Delta                    int64
	Timestamp                string // RFC 3339; "" for none
	ActionToken, Attestation string
	Body                     []byte // of the request, for the header signature
	OnlyIfBetter             bool   // see scoreboard.Increment
	BoundToken               bool   // the action token must have been made for the event
	ByRules                  bool   // it counts on the boards whose rule matches it, too
	// Once is the window in which the same action with the same delta counts once, where its
	// rule says nothing of it; 0: none.
	Once time.Duration
	// Attested is what an attestation names as the event; "" is the event's id.
	Attested string
}

// Submit records a write. Its error is the native one.
func (c *Call) Submit(w *Write) (*scoreboard.Receipt, error) {
	request := &wire.IncrementRequest{
		UserID: w.User, Delta: w.Delta, EventID: cmp.Or(w.ServerEvent, w.Event),
		Timestamp: w.Timestamp, Board: w.Board, Action: w.Action,
		ActionToken: w.ActionToken, Attestation: w.Attestation,
	}
	if w.Timestamp == "" {
		request.Timestamp = time.Time{}.Format(time.RFC3339) // the zero time: none is kept
	}
	cmd, err := parseCommand(request, c.Caller)
	if cmd.Event.Text != "" && w.ServerEvent == "" {
		c.gin.Set(keyEventID, cmd.Event.Text)
	}
	if err != nil {
		return nil, err
	}
	cmd.OnlyIfBetter, cmd.boundToken, cmd.dialectForm = w.OnlyIfBetter, w.BoundToken, c.dialect.Attestation
	// It names the board of the dialect, not one of its own choice.
	cmd.ByRules, cmd.unsignedByRules = w.ByRules, c.dialect.UnsignedByRules
	cmd.Once, cmd.attestedEvent = w.Once, w.Attested
	charge, err := c.operations.admission.admit(c.gin, c.Caller, cmd, w.Body, c.dialect.SignatureOptional)
	if err != nil {
		return nil, err
	}
	receipts, err := c.operations.submitter.Submit(c.gin.Request.Context(), cmd.Increment)
	charge.settle(receipts, err)
	if err != nil {
		return nil, err
	}
	return &receipts[0], nil
}

// Recorded returns the receipt of the event that a write repeats with another payload,
// after Submit has returned a conflict for it. If the event is of other boards only, it
// returns the conflict.
func (c *Call) Recorded(w *Write, conflict error) (*scoreboard.Receipt, error) {
	user, err := c.Caller.UserID(w.User)
	if err != nil {
		return nil, err
	}
	event, err := scoreboard.ParseEventID(user, w.Event)
	if err != nil {
		return nil, err
	}
	receipts, err := c.operations.events.Event(c.gin.Request.Context(), user, event)
	if err != nil {
		return nil, err
	}
	for i := range receipts {
		if string(receipts[i].Board.Family()) == w.Board {
			return &receipts[i], nil
		}
	}
	return nil, conflict
}

// BoardOf returns the board of a receipt.
func (c *Call) BoardOf(r *scoreboard.Receipt) (*scoreboard.Board, error) {
	return c.operations.access.catalog.Board(c.gin.Request.Context(), r.Board)
}

// PlaceOf returns the standing of a receipt's user. Its score includes the receipt, also
// where neither the ranking nor the store can answer with it in time; its rank may then be
// older.
func (c *Call) PlaceOf(r *scoreboard.Receipt) (*scoreboard.Place, error) {
	board, err := c.BoardOf(r)
	if err != nil {
		return nil, err
	}
	p, err := c.operations.reads.Place(c.gin.Request.Context(), board, r.User, 0, r.Version)
	if err != nil {
		return nil, err
	}
	return p.Including(r), nil
}

// Board returns a board that the caller may see.
func (c *Call) Board(name string) (*scoreboard.Board, error) {
	return c.operations.access.readableBoard(c.gin, c.Caller, name)
}

// Top returns the first rows of a board, at least those of a version if that is not 0.
func (c *Call) Top(board *scoreboard.Board, minVersion int64) (*scoreboard.Top, error) {
	if c.rejection != nil {
		top := c.operations.reads.CachedTop(board.ID)
		if top == nil {
			return nil, c.rejection
		}
		setRetryAfter(c.gin, c.rejection)
		return top, nil
	}
	return c.operations.reads.Top(c.gin.Request.Context(), board, minVersion)
}

// Page returns the rows of a board after a cursor.
func (c *Call) Page(board *scoreboard.Board, cursor string, limit int) (*scoreboard.Top, error) {
	if c.rejection != nil {
		return nil, c.rejection
	}
	after, err := c.operations.pages.cursors.decodeCursor(cursor, board)
	if err != nil {
		return nil, err
	}
	return c.operations.reads.Page(c.gin.Request.Context(), board, after, limit)
}

// NextCursor returns the cursor after the first n rows of top, "" if there are no more.
func (c *Call) NextCursor(top *scoreboard.Top, board *scoreboard.Board, n int) string {
	return c.operations.pages.nextCursor(top, board, n)
}

// Place returns a user's standing with k neighbours on both sides, at least that of a
// version of the user's if that is not 0.
func (c *Call) Place(
	board *scoreboard.Board, user scoreboard.UserID, k int, minVersion int64,
) (*scoreboard.Place, error) {
	id := c.operations.lookups.lookUp(c.gin.Request.Context(), c.Caller, user)
	if c.rejection != nil {
		p := c.operations.reads.CachedPlace(board.ID, id, k)
		if p == nil {
			return nil, c.rejection
		}
		setRetryAfter(c.gin, c.rejection)
		return p, nil
	}
	p, err := c.operations.reads.Place(c.gin.Request.Context(), board, id, k, minVersion)
	if err != nil {
		return nil, aboutUser(err, user)
	}
	return p, nil
}

// OwnPlace returns the caller's standing, as Place does. A banned caller learns of the ban.
func (c *Call) OwnPlace(board *scoreboard.Board, k int) (*scoreboard.Place, error) {
	place, err := c.Place(board, c.Caller.User, k, 0)
	if err != nil {
		return nil, c.operations.reasons.explainBan(c.gin.Request.Context(), c.Caller.User, err)
	}
	return place, nil
}

// StreamToken returns a token with which the caller opens one WebSocket of a board.
func (c *Call) StreamToken(board scoreboard.BoardID) (token string, expires time.Time, err error) {
	if _, err := c.Board(string(board)); err != nil {
		return "", time.Time{}, err
	}
	return c.operations.streamTokens.Issue(c.gin.Request.Context(), c.Caller, board)
}

// Stale reports whether reads answer from the cache, because the client is over its
// limit.
func (c *Call) Stale() bool { return c.rejection != nil }

// Entry returns a user's row of a board and the time of which it is; not_found without
// a score.
func (c *Call) Entry(board *scoreboard.Board, user scoreboard.UserID) (*scoreboard.Entry, time.Time, error) {
	place, err := c.Place(board, user, 0, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	row := []scoreboard.Entry{{User: place.User, Score: place.Score, Rank: place.Rank}}
	c.operations.show(c.gin.Request.Context(), board.ID, row)
	row[0].Reveal() // Place has answered, so the caller may know who it is
	return &row[0], place.AsOf, nil
}

// Respond answers 200 with a value as JSON.
func (c *Call) Respond(v any) { respond(c.gin, http.StatusOK, v) }

// RespondFirst answers 200 with the first limit rows of top, as JSON in the shape that
// value returns. It is encoded once for each limit, at most scoreboard.TopSize, and state of
// a board, so it must depend on nothing else.
func (c *Call) RespondFirst(top *scoreboard.Top, limit int, value func() any) {
	respondJSON(c.gin, http.StatusOK, c.operations.pages.cache.shapedPage(top, c.dialect, limit, value))
}
