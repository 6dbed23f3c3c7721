package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/pages"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Listing is which boards have pages.
type Listing interface {
	// Lists reports whether a board has pages, if it is public.
	Lists(board scoreboard.BoardID) bool
	// Embeds reports whether a page of an origin of another site may embed a board.
	Embeds(board scoreboard.BoardID, origin string) bool
	// OriginsOf returns the origins of other sites that may embed a board, for a policy.
	OriginsOf(board scoreboard.BoardID) []string
	// PublicURL is the address of the pages without a path; "" if it is unknown.
	PublicURL() string
}

// Paths of the pages of boards and of what they load.
const (
	pathPages        = "/b/"
	pathPage         = "/b/:board"
	pathCard         = "/b/:board/card.svg"
	pathPageTop      = "/b/:board/top"
	pathPageTimeline = "/b/:board/timeline"
	pathPagePlayer   = "/b/:board/players/:user_id"
	pathPageChart    = "/b/:board/players/:user_id/history"
	pathEmbed        = "/embed/:board"
	pathAsset        = "/assets/:file"
)

// site is the pages and their assets, for all processes: they are the same.
var site = sync.OnceValue(pages.New)

// pageRoutes are the routes of the pages of boards. Everyone may read the boards that are
// listed, without a token; with one, as its user.
func (h *handlers) pageRoutes() []route {
	if h.pageData == nil {
		return nil
	}
	l := h.limits
	listed := func(path string, query parameters, rate *Rate, handle handler) route {
		return route{
			method: http.MethodGet, path: path, query: query, scope: listedBoard, rate: rate, audit: unaudited,
			data: showsListed, handle: handle,
		}
	}
	asset := openRoute(pathAsset, func(c *gin.Context, _ *auth.Claims) error {
		if !site().ServeAsset(c.Writer, c.Request, c.Param("file")) {
			return scoreboard.Errorf(wire.CodeNotFound, "no such file")
		}
		return nil
	})
	var t []route
	if h.tops != nil {
		top := listed(pathPageTop, parameters{"limit"}, &l.Top, h.pageData.pageTop)
		top.stale = serveStale(h.pageData.stalePageTop)
		t = append(t,
			asset,
			listed(pathPages, anyParameters, &l.Top, h.pageViews.boardList),
			listed(pathPage, anyParameters, &l.Top, h.pageViews.page((*pages.Site).Page, pageFrames)),
			listed(pathEmbed, anyParameters, &l.Top, h.pageViews.page((*pages.Site).Embed, embedFrames)),
			listed(pathCard, anyParameters, &l.Top, h.pageViews.card),
			top,
			listed(pathPageTimeline, parameters{"from", "to", "step", "limit", "as"}, &l.Top, h.pageData.pageTimeline),
			listed(pathPagePlayer, parameters{"k"}, &l.Rank, h.pageData.pagePlayer),
			listed(pathPageChart, noParameters, &l.Rank, h.pageData.pageHistory))
	}
	if h.streams == nil {
		return append(t, misrouted(pathPageStream, nil))
	}
	stream := listed(pathPageStream, parameters{"limit", "delta", "last_event_id", "lastEventId"}, &l.Joins,
		h.pageData.pageStream)
	stream.stream = &liveStream{}
	return append(t, stream)
}

// visitor returns the claims of a page's caller: anonymous without a token.
func (h *callers) visitor(c *gin.Context, r route) (*auth.Claims, error) {
	if !h.origins.allowedOrigin(c) && r.stream != nil {
		return nil, scoreboard.Errorf(wire.CodeForbidden, "origin %.100s is not allowed", c.GetHeader("Origin"))
	}
	if c.GetHeader("Authorization") == "" {
		return anonymous, nil
	}
	return h.tokens.Verify(c.Request.Context(), bearerToken(c))
}

// mayEmbed reports whether a request is for a page's data of a board that a site may embed.
func (o *origins) mayEmbed(c *gin.Context, origin string) bool {
	if o.pages == nil || !strings.HasPrefix(c.FullPath(), pathPage+"/") && c.FullPath() != pathPageStream {
		return false
	}
	return o.pages.Embeds(scoreboard.BoardID(c.Param("board")), origin)
}

// pagedBoards finds the boards that have pages.
type pagedBoards struct {
	catalog Catalog
	pages   Listing
}

// listed returns the board in the path if it has pages. A private board has none, for any caller.
func (l pagedBoards) listed(c *gin.Context) (*scoreboard.Board, error) {
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return nil, err
	}
	return l.listedBoard(c.Request.Context(), id)
}

func (l pagedBoards) listedBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	if !l.pages.Lists(id) {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s not found", id)
	}
	b, err := l.catalog.PublicBoard(ctx, id)
	if err != nil {
		return nil, err // not the board: PublicBoard returns a private one with its error
	}
	return b, nil
}

// pageData answers with what the pages of boards load.
type pageData struct {
	reads     Leaderboard
	boards    pagedBoards
	pages     *topPages
	lookups   *lookups
	histories *histories
	timelines *timelines
	streams   *streams
	now       clock
}

// pageTop is GET /b/{board}/top.
func (d *pageData) pageTop(c *gin.Context, _ *auth.Claims) error {
	return d.answerPageTop(c, setPageCache, func(b *scoreboard.Board) (*scoreboard.Top, error) {
		return d.reads.Top(c.Request.Context(), b, 0)
	})
}

// stalePageTop answers with the cached first rows, and reports whether there were any.
func (d *pageData) stalePageTop(c *gin.Context, _ *auth.Claims) (answered bool, err error) {
	err = d.answerPageTop(c, setNoCache, func(b *scoreboard.Board) (*scoreboard.Top, error) {
		top := d.reads.CachedTop(b.ID)
		answered = top != nil
		return top, nil
	})
	return answered, err
}

// answerPageTop answers with the top that read returns, for the caches that setCache allows;
// nil is no answer.
func (d *pageData) answerPageTop(
	c *gin.Context, setCache func(*gin.Context), read func(*scoreboard.Board) (*scoreboard.Top, error),
) error {
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	b, err := d.boards.listed(c)
	if err != nil {
		return err
	}
	top, err := read(b)
	if err != nil || top == nil {
		return err
	}
	setCache(c)
	d.pages.respondFirst(c, top, b, limit)
	return nil
}

// pageLimit is the number of rows that a request asks for: those of a stream.
func pageLimit(c *gin.Context) (int, error) {
	switch c.Query("limit") {
	case "", strconv.Itoa(shortStream):
		return shortStream, nil
	case strconv.Itoa(scoreboard.TopSize):
		return scoreboard.TopSize, nil
	}
	return 0, scoreboard.Invalid("limit", "limit must be %d or %d", shortStream, scoreboard.TopSize)
}

// pagePlayer is GET /b/{board}/players/{user_id}.
func (d *pageData) pagePlayer(c *gin.Context, caller *auth.Claims) error {
	user, err := caller.UserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	k, err := queryInt(c, "k", defaultNear, 0, maxNear)
	if err != nil {
		return err
	}
	b, err := d.boards.listed(c)
	if err != nil {
		return err
	}
	p, err := d.reads.Place(c.Request.Context(), b, d.lookups.lookUp(c.Request.Context(), caller, user), k, 0)
	if err != nil {
		return aboutUser(err, user)
	}
	setPageCache(c)
	respondPlace(c, placeJSON(p, b, anonymous, d.now))
	return nil
}

// Neighbours on each side that a page shows of a player.
const (
	defaultNear = 2
	maxNear     = 5
)

// pageStream is GET /v1/realtime/pages/{board}: an event stream.
func (d *pageData) pageStream(c *gin.Context, caller *auth.Claims) error {
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	delta, err := queryFlag(c, "delta")
	if err != nil {
		return err
	}
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	return d.streams.follow(c, caller, false, &realtime.Viewer{
		Board: id, Limit: limit, Delta: delta, CanSee: func(ctx context.Context, id scoreboard.BoardID) error {
			_, err := d.boards.listedBoard(ctx, id)
			return err
		},
	})
}

// frames is the Content-Security-Policy directive that lists the origins that may frame a page.
type frames func(listing Listing, board scoreboard.BoardID) string

func pageFrames(Listing, scoreboard.BoardID) string { return "frame-ancestors 'none'" }

func embedFrames(listing Listing, board scoreboard.BoardID) string {
	return "frame-ancestors " + strings.Join(append([]string{"'self'"}, listing.OriginsOf(board)...), " ")
}

// pageViews serves the pages of boards.
type pageViews struct {
	reads   Leaderboard
	boards  pagedBoards
	store   Boards // of final standings
	catalog Catalog
	pages   Listing
	lookups *lookups
	show    func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
	now     clock
}

// page is GET /b/{board} and /embed/{board}.
func (p *pageViews) page(render func(*pages.Site, *pages.Board) []byte, who frames) handler {
	return func(c *gin.Context, caller *auth.Claims) error {
		view, err := p.view(c, caller)
		if err != nil {
			return err
		}
		respondView(c, view, "text/html; charset=utf-8", view.Policy()+who(p.pages, view.ID), render(site(), view))
		return nil
	}
}

// card is GET /b/{board}/card.svg.
func (p *pageViews) card(c *gin.Context, caller *auth.Claims) error {
	view, err := p.view(c, caller)
	if err != nil {
		return err
	}
	view.Limit = shortStream
	respondView(c, view, "image/svg+xml", "default-src 'none'; frame-ancestors 'none'", site().Card(view))
	return nil
}

// respondView answers with a page or a picture, or 304 if the client has it.
func respondView(c *gin.Context, view *pages.Board, kind, policy string, body []byte) {
	setPageCache(c)
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Type", kind)
	if view.Top.Degraded == "" && c.GetHeader("Authorization") == "" {
		etag := pages.Tag(view, body)
		h.Set("Etag", etag)
		if matches(c.GetHeader("If-None-Match"), etag) {
			c.Status(http.StatusNotModified)
			return
		}
	}
	c.Status(http.StatusOK)
	_, _ = c.Writer.Write(body) // fails only for a client that has gone
}

// isPage reports whether a request is for a page, by a browser: its errors are pages, too.
func isPage(c *gin.Context) bool {
	switch c.FullPath() {
	case pathPages, pathPage, pathEmbed:
		return strings.Contains(c.GetHeader("Accept"), "text/html")
	}
	return false
}

// respondProblem answers with the page of an error.
func respondProblem(c *gin.Context, status int, e *wire.Error) {
	title, message := http.StatusText(status), e.Message
	switch status {
	case http.StatusNotFound:
		title, message = "Board not found", "Check the address, or choose one of all boards."
	case http.StatusBadRequest:
		title = "This address is not valid"
	}
	c.Writer.Header().Set("Content-Security-Policy", pages.ProblemPolicy()+"frame-ancestors 'none'")
	c.Data(status, "text/html; charset=utf-8", site().Problem(title, message))
}

// view reads what a page shows. It ignores parameters that it does not know: links gain some on
// their way.
func (p *pageViews) view(c *gin.Context, caller *auth.Claims) (*pages.Board, error) {
	board, err := p.boards.listed(c)
	if err != nil {
		return nil, err
	}
	v := &pages.Board{
		ID: scoreboard.BoardID(c.Param("board")), Shown: board.ID, Ended: board.Ended(),
		Closed: board.Closed, Sealed: board.StandingsHash, Pairs: board.HasSubscores(),
		URL: p.pages.PublicURL(), Appearance: board.Appearance,
	}
	v.Tiers, v.Order = board.Tiers, board.Order
	if !v.Ended {
		v.Ends = board.PeriodEnd
	}
	if v.Limit, err = pageLimit(c); err != nil {
		return nil, err
	}
	if v.Theme, err = queryTheme(c); err != nil {
		return nil, err
	}
	if v.Kiosk, err = queryFlag(c, "kiosk"); err != nil {
		return nil, err
	}
	if text := c.Query("player"); text != "" {
		user, err := scoreboard.ParseUserID(text)
		if err != nil {
			return nil, scoreboard.Invalid("player", "player must be a user id")
		}
		v.Player = &pages.Player{ID: user}
	}
	if err := p.choosePeriods(c, v, board); err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	if v.Top, err = p.rowsOf(ctx, board, v.Sealed != ""); err != nil {
		return nil, err
	}
	if v.Player != nil {
		v.Player.Place, err = p.reads.Place(ctx, board, p.lookups.lookUp(ctx, caller, v.Player.ID), defaultNear, 0)
		if err != nil && wire.CodeOf(err) != wire.CodeNotFound {
			return nil, err
		}
	}
	return v, nil
}

// rowsOf returns the first rows of a board; of an ended one its final standings.
func (p *pageViews) rowsOf(ctx context.Context, board *scoreboard.Board, sealed bool) (*scoreboard.Top, error) {
	if !sealed {
		return p.reads.Top(ctx, board, 0)
	}
	ended, rows, err := p.store.FinalStandings(ctx, board.ID, 0, scoreboard.TopSize)
	if err != nil {
		return nil, err
	}
	top := &scoreboard.Top{Board: board.ID, Total: ended.Users, AsOf: board.Closed, UpdatedAt: board.Closed}
	for i := range rows {
		top.Entries = append(top.Entries, rows[i].Entry)
	}
	p.show(ctx, board.ID, top.Entries)
	return top, nil
}

// The most entries of the choice of periods, and of a page of the list of boards.
const periodsShown, boardsShown = 24, 100

// choosePeriods sets the choice of periods: those that started last, or last before another one.
func (p *pageViews) choosePeriods(c *gin.Context, v *pages.Board, board *scoreboard.Board) error {
	text := c.Query("before")
	if text == "" && board.ID == board.Family {
		return nil
	}
	periods, err := p.catalog.Periods(c.Request.Context(), board.Family)
	if err != nil {
		return err
	}
	isOpen := func(b *scoreboard.Board) bool { return b.Public && !b.PeriodStart.After(p.now()) }
	end := len(periods)
	if text != "" {
		end = slices.IndexFunc(periods, func(b *scoreboard.Board) bool { return string(b.ID) == text && isOpen(b) })
		if end < 0 {
			return scoreboard.Invalid("before", "before must be a period of board %s", board.Family)
		}
		v.Before = periods[end].ID
	}
	for i := end - 1; i >= 0; i-- {
		b := periods[i]
		if !isOpen(b) {
			continue
		}
		if len(v.Periods) == periodsShown {
			v.Older = v.Periods[periodsShown-1].ID
			break
		}
		v.Periods = append(v.Periods, pages.Period{ID: b.ID, Name: b.Span().Name, Current: !b.Ended()})
	}
	return nil
}

// boardList is GET /b/: the boards that have pages, by name.
func (p *pageViews) boardList(c *gin.Context, _ *auth.Claims) error {
	list := &pages.List{Filter: pages.Filter{
		Tag: c.Query("tag"), Region: c.Query("region"), Platform: c.Query("platform"),
	}}
	var err error
	if list.Theme, err = queryTheme(c); err != nil {
		return err
	}
	after := scoreboard.BoardID("")
	if text := c.Query("after"); text != "" {
		if after, err = scoreboard.ParseBoardID(text); err != nil {
			return scoreboard.Invalid("after", "after must be the name of a board")
		}
	}
	families, err := p.catalog.Families(c.Request.Context())
	if err != nil {
		return err
	}
	for _, b := range families {
		if b.ID <= after || !b.Public || !p.pages.Lists(b.ID) || !list.Filter.Matches(b) {
			continue
		}
		if len(list.Boards) == boardsShown {
			list.After = list.Boards[boardsShown-1].ID
			break
		}
		one := pages.Listed{
			ID: b.ID, Period: b.Period, Status: b.Status, Labels: slices.Clone(b.Tags), Appearance: b.Appearance,
		}
		for _, label := range []string{b.Platform, b.Region} {
			if label != "" {
				one.Labels = slices.Insert(one.Labels, 0, label)
			}
		}
		if one.Ends, err = p.endOf(c.Request.Context(), b); err != nil {
			return err
		}
		list.Add(one)
	}
	setPageCache(c)
	c.Writer.Header().Set("Content-Security-Policy", list.Policy()+pageFrames(p.pages, ""))
	c.Data(http.StatusOK, "text/html; charset=utf-8", site().List(list))
	return nil
}

// endOf returns when the current period of a board ends; zero without one.
func (p *pageViews) endOf(ctx context.Context, board *scoreboard.Board) (time.Time, error) {
	if !board.IsFamily() {
		return time.Time{}, nil
	}
	periods, err := p.catalog.Periods(ctx, board.ID)
	if err != nil {
		return time.Time{}, err
	}
	now := p.now()
	for _, b := range slices.Backward(periods) {
		if !b.PeriodStart.After(now) {
			if b.Ended() || !b.PeriodEnd.After(now) {
				return time.Time{}, nil
			}
			return b.PeriodEnd, nil
		}
	}
	return time.Time{}, nil
}

// queryTheme is the colours that a page is asked for; "" for those of the viewer's system.
func queryTheme(c *gin.Context) (string, error) {
	theme := c.Query("theme")
	switch theme {
	case "", "light", "dark":
		return theme, nil
	}
	return "", scoreboard.Invalid("theme", "theme must be light or dark")
}
