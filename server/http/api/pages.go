package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// pageCache holds the encoded first pages of boards: the rows of a version are
// encoded once for each limit. Only the age is written for each answer.
type pageCache struct {
	mu     sync.RWMutex
	boards map[scoreboard.BoardID]*boardPages
}

// boardPages are the pages of one version of a board, which they do not keep alive.
type boardPages struct {
	top     weak.Pointer[scoreboard.Top]
	byLimit [scoreboard.TopSize + 1]atomic.Pointer[page]
	shaped  sync.Map // of shape to []byte, the pages of dialects
}

// shape is what identifies a dialect's page of a state.
type shape struct {
	dialect *Dialect
	limit   int
}

// page is an encoded answer: its parts before and after the age.
type page struct {
	before, after []byte
	etag          string // "" if degraded
}

// maxCachedBoards bounds the boards; beyond it the cache is cleared.
const maxCachedBoards = 4096

func (p *pageCache) forTop(top *scoreboard.Top) *boardPages {
	p.mu.RLock()
	b := p.boards[top.Board]
	p.mu.RUnlock()
	ref := weak.Make(top)
	if b != nil && b.top == ref {
		return b
	}
	b = &boardPages{top: ref}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boards == nil || len(p.boards) >= maxCachedBoards {
		p.boards = make(map[scoreboard.BoardID]*boardPages)
	}
	p.boards[top.Board] = b
	return b
}

// topPages encodes the rows of boards.
type topPages struct {
	cursors cursorKeys
	cache   pageCache
	now     clock
}

// firstPage returns the encoded first page of a board.
func (t *topPages) firstPage(top *scoreboard.Top, board *scoreboard.Board, limit int) *page {
	b := t.cache.forTop(top)
	if known := b.byLimit[limit].Load(); known != nil {
		return known
	}
	out := t.topJSON(top, board, limit)
	p := &page{}
	if !out.Degraded {
		p.etag = etagOf(out)
	}
	before, after := out.AppendAround(make([]byte, 0, 256+96*len(out.Entries)))
	p.before, p.after = bytes.Clone(before), bytes.Clone(after) // they are kept: drop spare capacity
	b.byLimit[limit].Store(p)
	return p
}

// shapedPage returns the first page of a board in the shape of a dialect, which value
// returns.
func (p *pageCache) shapedPage(top *scoreboard.Top, d *Dialect, limit int, value func() any) []byte {
	pages, key := p.forTop(top), shape{d, limit}
	if known, ok := pages.shaped.Load(key); ok {
		return known.([]byte) //nolint:forcetypeassert // only these are stored
	}
	body := encode(value())
	pages.shaped.Store(key, body)
	return body
}

// etagOf identifies a page by its rows, its board's instance and the cursor of the next
// page. It is weak: the other fields, such as the age and the total, may differ.
func etagOf(top *wire.Top) string {
	h := sha256.New()
	b := fmt.Appendf(nil, "%q %q", top.Board, top.NextCursor)
	h.Write(b)
	for i := range top.Entries {
		b = top.Entries[i].AppendJSON(b[:0])
		h.Write(b) // objects delimit themselves
	}
	return `W/"` + hex.EncodeToString(h.Sum(nil)[:12]) + `"`
}

// matches reports whether an If-None-Match names the tag.
func matches(header, etag string) bool {
	if header == "" || etag == "" {
		return false
	}
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// respondFirst answers with the first page, or 304 if the client has it. Cache-Control is set.
func (t *topPages) respondFirst(c *gin.Context, top *scoreboard.Top, board *scoreboard.Board, limit int) {
	p := t.firstPage(top, board, limit)
	h := c.Writer.Header()
	if p.etag != "" {
		h["Etag"] = []string{p.etag}
		if matches(c.GetHeader("If-None-Match"), p.etag) {
			c.Status(http.StatusNotModified)
			return
		}
	}
	body := make([]byte, 0, len(p.before)+len(p.after)+20)
	body = append(body, p.before...)
	body = strconv.AppendInt(body, t.now.age(top.AsOf), 10)
	respondJSON(c, http.StatusOK, append(body, p.after...))
}
