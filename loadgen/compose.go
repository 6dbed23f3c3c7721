package loadgen

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// composer writes requests. By hand and into room that is used again: package
// client writes the same bytes, which a test compares, at several times the
// cost, and what the generator takes the server lacks.
type composer struct {
	plan   *Plan
	draw   *draw
	path   string // before that of each request
	fixed  string // the headers that all have
	secret string
	keyID  string // empty where nothing is signed
	quoted string // keyID as JSON
	rooms  *sync.Pool
	clock  *atomic.Pointer[stamp]
}

// room is what one request needs while it is written.
type room struct {
	mac, forged hash.Hash
	body, text  []byte
	sum         [sha256.Size]byte
}

// stamp is a second in words.
type stamp struct {
	unix int64
	text string
}

func newComposer(p *Plan, d *draw, s Server, base *url.URL) composer {
	quoted, _ := json.Marshal(s.KeyID) // a string is always marshalled
	return composer{
		plan: p, draw: d, path: base.Path, secret: s.KeySecret, keyID: s.KeyID, quoted: string(quoted),
		fixed: " HTTP/1.1\r\nHost: " + base.Host + "\r\nUser-Agent: scoreboard-loadgen\r\nAuthorization: Bearer ",
		rooms: &sync.Pool{New: func() any {
			return &room{
				mac:    hmac.New(sha256.New, []byte(s.KeySecret)),
				forged: hmac.New(sha256.New, []byte("not "+s.KeySecret)),
			}
		}},
		clock: &atomic.Pointer[stamp]{},
	}
}

// now is the time of a signature.
func (c *composer) now() *stamp {
	unix := time.Now().Unix()
	s := c.clock.Load()
	if s == nil || s.unix != unix {
		s = &stamp{unix, time.Unix(unix, 0).UTC().Format(time.RFC3339)}
		c.clock.Store(s)
	}
	return s
}

// request appends request n, which goes under a token.
func (c *composer) request(b []byte, n uint64, token string) []byte {
	k, write := c.plan.write(n)
	if !write {
		b = c.read(append(append(b, "GET "...), c.path...), n)
		return append(c.head(b, token), "\r\n"...)
	}
	r := c.rooms.Get().(*room)
	defer c.rooms.Put(r)
	now := c.now()
	path := "/v1/scores/increment"
	if c.plan.Mode == Batch {
		path = "/v1/scores/increments"
		r.body = c.batch(r.body[:0], r, k, now)
	} else {
		e := c.draw.event(k)
		r.body = c.increment(r.body[:0], r, &e, now, true)
	}
	b = append(append(append(b, "POST "...), c.path...), path...)
	b = append(c.head(b, token), "Content-Type: application/json\r\n"...)
	switch c.plan.Mode {
	case Async:
		b = append(b, "Prefer: respond-async\r\n"...)
	case Batch:
		b = c.sign(b, r, c.path+path, now)
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(r.body)), 10)
	return append(append(b, "\r\n\r\n"...), r.body...)
}

func (c *composer) head(b []byte, token string) []byte {
	return append(append(append(b, c.fixed...), token...), "\r\n"...)
}

// read asks for the top and for standings in turn.
func (c *composer) read(b []byte, n uint64) []byte {
	user := c.draw.event(n / 2).user
	board := c.plan.board(user)
	if n%2 == 0 {
		b = append(b, "/v1/leaderboard/top?limit=10"...)
		if board != "" {
			b = append(append(b, "&board="...), url.QueryEscape(board)...)
		}
		return b
	}
	b = append(c.plan.appendName(append(b, "/v1/users/"...), user), "/rank"...)
	if board != "" {
		b = append(append(b, "?board="...), url.QueryEscape(board)...)
	}
	return b
}

func (c *composer) batch(b []byte, r *room, k uint64, now *stamp) []byte {
	b = append(b, `{"items":[`...)
	first := k * uint64(c.plan.Size)
	for i := range uint64(c.plan.Size) {
		if i > 0 {
			b = append(b, ',')
		}
		e := c.draw.event(first + i)
		b = c.increment(b, r, &e, now, false)
	}
	return append(b, "]}"...)
}

// increment appends the body of an increment, signed by the field scheme where
// it goes alone.
func (c *composer) increment(b []byte, r *room, e *event, now *stamp, alone bool) []byte {
	b = c.plan.appendName(append(b, `{"user_id":"`...), e.user)
	b = strconv.AppendInt(append(b, `","delta":`...), e.delta, 10)
	b = appendUUID(append(b, `,"event_id":"`...), e.id)
	b = append(append(b, `","timestamp":"`...), now.text...)
	board := c.plan.board(e.user)
	if alone && c.keyID != "" {
		mac := r.mac
		if e.kind == record.Forged {
			mac = r.forged
		}
		t := append(c.plan.appendName(r.text[:0], e.user), '|')
		t = append(strconv.AppendInt(t, e.delta, 10), '|')
		t = append(append(appendUUID(t, e.id), '|'), now.text...)
		if board != "" {
			t = append(append(t, '|'), board...)
		}
		b = r.sign(append(b, `","signature":"`...), mac, t)
		b = append(append(b, `","key_id":`...), c.quoted...)
	} else {
		b = append(b, '"')
	}
	if board != "" {
		b = append(append(append(b, `,"board":"`...), board...), '"') // its letters need no escape
	}
	return append(b, '}')
}

// sign appends the headers of the header scheme over the body.
func (c *composer) sign(b []byte, r *room, path string, now *stamp) []byte {
	if c.keyID == "" {
		return b
	}
	timestamp := strconv.FormatInt(now.unix, 10)
	text := protocol.HeaderText("POST", path, c.keyID, timestamp, r.body)
	b = append(append(append(b, protocol.HeaderKey+": "...), c.keyID...), "\r\n"...)
	b = append(append(append(b, protocol.HeaderTimestamp+": "...), timestamp...), "\r\n"...)
	b = r.sign(append(b, protocol.HeaderSignature+": "+protocol.SignatureVersion...), r.mac, text)
	return append(b, "\r\n"...)
}

func (r *room) sign(b []byte, mac hash.Hash, text []byte) []byte {
	mac.Reset()
	mac.Write(text)
	r.text = text
	return hex.AppendEncode(b, mac.Sum(r.sum[:0]))
}
