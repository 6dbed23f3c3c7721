package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Leaderboard answers reads.
type Leaderboard interface {
	Top(ctx context.Context, board *scoreboard.Board, minVersion int64) (*scoreboard.Top, error)
	Page(
		ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int,
	) (*scoreboard.Top, error)
	Place(
		ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int, minVersion int64,
	) (*scoreboard.Place, error)
	List(ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID) (*scoreboard.List, error)
	RankOf(ctx context.Context, board *scoreboard.Board, pair scoreboard.Pair) (int64, error)
	// HasStanding reads from the store whether a user is on a board, which need not exist.
	HasStanding(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (bool, error)
	// CachedTop and CachedPlace return a recent answer for clients over the limit;
	// nil if none is cached.
	CachedTop(board scoreboard.BoardID) *scoreboard.Top
	CachedPlace(board scoreboard.BoardID, user scoreboard.UserID, k int) *scoreboard.Place
	// AttemptsUsed returns how many events of a user a board has recorded that are not reversed.
	AttemptsUsed(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (int64, error)
	// MetadataOf returns the standings of those users on a board that have metadata; a hidden one is
	// only that of own. It answers with an error within a quarter of a second.
	MetadataOf(
		ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID, own scoreboard.UserID,
	) ([]scoreboard.Described, error)
}

// TierReads lists the users of tiers.
type TierReads interface {
	// TierPage returns up to limit users of a tier, those behind a position if there is one, and
	// whether there are more of them.
	TierPage(
		ctx context.Context, board *scoreboard.Board, tier int, after *scoreboard.Position, limit int,
	) (page *scoreboard.Top, more bool, err error)
}

// The bounds of reads.
const (
	shortStream   = 10 // rows of a stream, else scoreboard.TopSize
	maxNeighbours = 50
	defaultAround = 5
	maxUsers      = 100
	maxVersion    = 1<<53 - 1
)

// readableBoard returns the board of a read, global if none is given, and an error
// if the caller may not see it.
func (a boardAccess) readableBoard(c *gin.Context, caller *auth.Claims, name string) (*scoreboard.Board, error) {
	id, err := boardOrGlobal(name)
	if err != nil {
		return nil, err
	}
	return a.board(c.Request.Context(), id, caller)
}

func boardOrGlobal(name string) (scoreboard.BoardID, error) {
	if name == "" {
		return scoreboard.GlobalBoard, nil
	}
	return scoreboard.ParseBoardID(name)
}

// topQuery are the parameters of a read of a board's rows.
type topQuery struct {
	board      *scoreboard.Board
	limit      int
	minVersion int64
	after      *scoreboard.Position // nil: the first page
	at         *scoreboard.PastTime // nil: now
	tier       int                  // index in the board's tiers; -1: all users
}

// topReads answers with the rows of boards.
type topReads struct {
	reads      Leaderboard
	tiers      TierReads
	pastBoards PastBoards
	past       *pastReads
	live       Live // nil: long polls do not wait
	access     *boardAccess
	cursors    cursorKeys
	pages      *topPages
	metadata   *metadata
	show       func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
	policy     *atomic.Pointer[Policy]
	now        clock
}

func (h *topReads) topQuery(c *gin.Context, caller *auth.Claims) (q topQuery, err error) {
	if q.limit, err = queryInt(c, "limit", h.policy.Load().TopN, 1, scoreboard.TopSize); err != nil {
		return q, err
	}
	if q.minVersion, err = queryVersion(c); err != nil {
		return q, err
	}
	if q.at, err = h.past.queryPast(c, caller, "min_version", "wait", "after"); err != nil {
		return q, err
	}
	if q.board, err = h.access.readableBoard(c, caller, c.Query("board")); err != nil {
		return q, err
	}
	if q.at != nil {
		if q.board, err = h.past.boardAt(c.Request.Context(), q.board, c.Query("board"), q.at); err != nil {
			return q, err
		}
	}
	if q.tier, err = queryTier(c, q.board); err != nil {
		return q, err
	}
	if cursor := c.Query("cursor"); cursor != "" {
		q.after, err = h.cursors.decodeCursor(cursor, q.board)
	}
	return q, err
}

// top is GET /v1/leaderboard/top.
func (h *topReads) top(c *gin.Context, caller *auth.Claims) error {
	q, err := h.topQuery(c, caller)
	if err != nil {
		return err
	}
	if q.at != nil {
		return h.topAt(c, caller, q, q.at)
	}
	if q.tier >= 0 {
		return h.topOfTier(c, caller, q)
	}
	if q.after != nil {
		page, err := h.reads.Page(c.Request.Context(), q.board, q.after, q.limit)
		if err != nil {
			return err
		}
		h.respondPage(c, caller, page, q)
		return nil
	}
	if newer, err := h.wait(c, caller, q.board.ID); !newer {
		return err
	}
	top, err := h.reads.Top(c.Request.Context(), q.board, q.minVersion)
	if err != nil {
		return err
	}
	if forOperators(caller, top) != nil || q.board.Metadata == scoreboard.MetadataPublic {
		h.respondPage(c, caller, top, q)
		return nil
	}
	setTopCache(c, caller)
	h.pages.respondFirst(c, top, q.board, q.limit)
	return nil
}

// forOperators returns top with its users, for a caller who sees them all; nil for others, and
// where no user is hidden. It must not be cached.
func forOperators(caller *auth.Claims, top *scoreboard.Top) *scoreboard.Top {
	if !caller.Has(auth.ScopeOperate) || !slices.ContainsFunc(top.Entries, func(e scoreboard.Entry) bool {
		return e.Hidden()
	}) {
		return nil
	}
	out := *top
	out.Entries = reveal(top.Entries)
	return &out
}

func (h *topReads) respondPage(c *gin.Context, caller *auth.Claims, page *scoreboard.Top, q topQuery) {
	if operators := forOperators(caller, page); operators != nil {
		page = operators
		c.Header("Cache-Control", "no-store")
	}
	out := h.pages.topJSON(page, q.board, q.limit)
	h.metadata.addToTop(c.Request.Context(), q.board, out, time.Time{})
	before, after := out.AppendAround(make([]byte, 0, 256+96*len(out.Entries)))
	respondJSON(c, http.StatusOK, append(strconv.AppendInt(before, h.now.age(page.AsOf), 10), after...))
}

// staleTop answers with the cached first rows, and reports whether there were any.
func (h *topReads) staleTop(c *gin.Context, caller *auth.Claims) (bool, error) {
	q, err := h.topQuery(c, caller)
	if err != nil || q.after != nil || q.at != nil || q.tier >= 0 || q.minVersion > 0 || c.Query("wait") != "" {
		return false, err
	}
	top := h.reads.CachedTop(q.board.ID)
	if top == nil {
		return false, nil
	}
	setNoCache(c)
	h.pages.respondFirst(c, top, q.board, q.limit)
	return true, nil
}

// topJSON returns a page except for its age.
func (t *topPages) topJSON(top *scoreboard.Top, board *scoreboard.Board, limit int) *wire.Top {
	shown := top.Entries[:min(limit, len(top.Entries))]
	out := &wire.Top{
		Board: string(top.Board), Entries: entriesJSON(board, shown), Total: top.Total,
		UpdatedAt: top.UpdatedAt, AsOf: top.AsOf,
		BoardState: string(top.State), DegradedReason: top.Degraded, Degraded: top.Degraded != "",
	}
	if !out.Degraded {
		out.Version, out.Epoch = &top.Version, &top.Epoch
	}
	out.NextCursor = t.nextCursor(top, board, len(shown))
	return out
}

// nextCursor returns the cursor after the first n rows of top, "" if there are no more.
func (t *topPages) nextCursor(top *scoreboard.Top, board *scoreboard.Board, n int) string {
	if n == 0 || top.Ordinal(n-1) >= top.Total {
		return ""
	}
	cursor := scoreboard.PageCursor{Board: top.Board, Position: top.Position(n-1, board)}
	if top.Entries[n-1].Hidden() {
		return t.cursors.encryptCursor(cursor)
	}
	return t.cursors.encodeCursor(cursor)
}

// maxWait bounds a long poll.
const maxWait = 30 * time.Second

// wait blocks a long poll (wait and after in the query) until the board is newer
// than after, or answers 304 after the wait.
func (h *topReads) wait(c *gin.Context, caller *auth.Claims, board scoreboard.BoardID) (newer bool, err error) {
	text := c.Query("wait")
	if text == "" || h.live == nil {
		return true, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait <= 0 || wait > maxWait {
		return false, scoreboard.Invalid("wait", "wait must be a duration of at most %s, such as 25s", maxWait)
	}
	c.Set(keyLongPoll, true)
	ctx, cancel := context.WithTimeout(c.Request.Context(), wait)
	defer cancel()
	v := realtime.Viewer{
		User:    caller.User,
		Address: address(c.Request),
		Expires: caller.Expires,
		Board:   board,
		Limit:   scoreboard.TopSize,
	}
	v.LastEpoch, v.LastVersion = parseEventID(c.Query("after"))
	err = h.live.Wait(ctx, &v)
	if errors.Is(err, context.DeadlineExceeded) {
		c.Status(http.StatusNotModified)
		return false, nil
	}
	return err == nil, err
}

// userLists answers with the standings of listed users.
type userLists struct {
	reads    Leaderboard
	access   *boardAccess
	lookups  *lookups
	metadata *metadata
	now      clock
}

// list is POST /v1/leaderboard/users.
func (h *userLists) list(c *gin.Context, caller *auth.Claims) error {
	body, err := readBody(c, maxListBody)
	if err != nil {
		return err
	}
	in, err := protocol.DecodeUsers(body, maxUsers)
	if err != nil {
		return err
	}
	users := make([]scoreboard.UserID, len(in.UserIDs))
	for i, text := range in.UserIDs {
		if users[i], err = caller.UserID(text); err != nil {
			return scoreboard.Invalid("user_ids",
				"user_ids must be ids of 1 to %d characters of A-Z a-z 0-9 . _ : @ -", scoreboard.MaxUserIDLength)
		}
	}
	if sorted := slices.Sorted(slices.Values(users)); len(slices.Compact(sorted)) < len(users) {
		return scoreboard.Invalid("user_ids", "duplicate user in user_ids")
	}
	board, err := h.access.readableBoard(c, caller, in.Board)
	if err != nil {
		return err
	}
	mayName := h.lookups.mayName(c.Request.Context(), caller, users)
	for i, user := range users {
		if !mayName(user) {
			users[i] = scoreboard.Nobody(user)
		}
	}
	l, err := h.reads.List(c.Request.Context(), board, users)
	if err != nil {
		return err
	}
	respondList(c, l, board, h.metadata, h.now)
	return nil
}

func respondList(c *gin.Context, l *scoreboard.List, board *scoreboard.Board, metadata *metadata, now clock) {
	out := wire.List{
		Board: string(l.Board), Entries: protocol.ListEntries(l.Entries, l.SharedRanks),
		NotFound: make([]string, len(l.Missing)), Total: l.Total, AsOf: l.AsOf, AgeMS: now.age(l.AsOf),
		BoardState: string(l.State), Degraded: l.Degraded != "", DegradedReason: l.Degraded,
	}
	for i, user := range l.Missing {
		out.NotFound[i] = string(scoreboard.Somebody(user))
	}
	if !out.Degraded {
		out.Version, out.Epoch = &l.Version, &l.Epoch
	}
	for i := range out.Entries {
		out.Entries[i].Subscore = subscoreJSON(board, l.Entries[i].Subscore)
	}
	metadata.addToList(c.Request.Context(), board, &out)
	respond(c, http.StatusOK, out)
}

// maxListBody has room for a hundred of the longest ids.
const maxListBody = 16 << 10

// clock returns the time.
type clock func() time.Time

// age is the age in milliseconds of an answer that includes everything committed
// before asOf.
func (now clock) age(asOf time.Time) int64 { return max(now().Sub(asOf).Milliseconds(), 0) }
