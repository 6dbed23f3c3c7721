package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// pages are the first pages of boards as bytes: a head that many read is
// encoded once for each size. Only the age is written for each answer.
type pages struct {
	mu     sync.RWMutex
	boards map[scoreboard.BoardID]*boardPages
}

// boardPages are those of one head, which they do not keep alive.
type boardPages struct {
	top     weak.Pointer[scoreboard.Top]
	byLimit [scoreboard.TopSize + 1]atomic.Pointer[page]
}

// page is an answer but for its age, which stands between the two.
type page struct {
	before, after []byte
	etag          string // "" for a degraded one
}

// maxPages bounds the boards; past it all begin anew.
const maxPages = 4096

func (p *pages) of(top *scoreboard.Top) *boardPages {
	p.mu.RLock()
	b := p.boards[top.Board]
	p.mu.RUnlock()
	of := weak.Make(top)
	if b != nil && b.top == of {
		return b
	}
	b = &boardPages{top: of}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boards == nil || len(p.boards) >= maxPages {
		p.boards = make(map[scoreboard.BoardID]*boardPages)
	}
	p.boards[top.Board] = b
	return b
}

// firstPage returns the first page of a head.
func (a *API) firstPage(top *scoreboard.Top, board *scoreboard.Board, limit int) *page {
	b := a.pages.of(top)
	if known := b.byLimit[limit].Load(); known != nil {
		return known
	}
	out := a.topJSON(top, board, limit)
	made := &page{}
	if !out.Degraded {
		made.etag = etagOf(out.Entries)
	}
	before, after := out.AppendAround(make([]byte, 0, 256+96*len(out.Entries)))
	made.before, made.after = bytes.Clone(before), bytes.Clone(after) // they stay: no room to spare
	b.byLimit[limit].Store(made)
	return made
}

// etagOf names the rows that a page shows. It is weak: what stands around them,
// such as the age, is another in each answer.
func etagOf(entries []protocol.Entry) string {
	h := sha256.New()
	var b []byte
	for i := range entries {
		b = entries[i].AppendJSON(b[:0])
		h.Write(b) // the entries of a page end by themselves
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

// respondFirst answers with the first page, or 304 where the caller has it.
func (a *API) respondFirst(c *gin.Context, top *scoreboard.Top, board *scoreboard.Board, limit int) {
	p := a.firstPage(top, board, limit)
	h := c.Writer.Header()
	h["Cache-Control"] = noCache
	if p.etag != "" {
		h["Etag"] = []string{p.etag}
		if matches(c.GetHeader("If-None-Match"), p.etag) {
			c.Status(http.StatusNotModified)
			return
		}
	}
	body := make([]byte, 0, len(p.before)+len(p.after)+20)
	body = append(body, p.before...)
	body = strconv.AppendInt(body, a.age(top.AsOf), 10)
	respondJSON(c, http.StatusOK, append(body, p.after...))
}

// noCache lets browsers and proxies keep an answer only to ask whether it holds.
var noCache = []string{"private, no-cache"}
