package codec

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

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Composer writes requests into buffers that are reused. It is safe for
// concurrent use.
type Composer struct {
	plan      *plan.Plan
	events    *plan.Events
	native    string // prefix of the paths of the native API
	path      string // prefix of every other request's path
	headers   string // common to all requests, up to the token
	keyID     string // empty for unsigned requests
	keyIDJSON string
	scratch   *sync.Pool
	second    *atomic.Pointer[timestamp]
}

// scratch is the memory that one request needs while it is written.
type scratch struct {
	mac, forged hash.Hash
	body, text  []byte
	sum         [sha256.Size]byte
}

// timestamp is a second as a Unix time and as text.
type timestamp struct {
	unix int64
	text string
}

// NewComposer returns a composer of requests to the server at base. Without a key
// id the requests are not signed. dialect is where the server has mounted the plan's
// dialect; nil for none.
func NewComposer(p *plan.Plan, events *plan.Events, keyID, keySecret string, base, dialect *url.URL) Composer {
	path := base.Path
	if dialect != nil {
		path = dialect.Path
	}
	keyIDJSON, _ := json.Marshal(keyID) // marshalling a string cannot fail
	return Composer{
		plan: p, events: events, native: base.Path, path: path, keyID: keyID, keyIDJSON: string(keyIDJSON),
		headers: " HTTP/1.1\r\nHost: " + base.Host + "\r\nUser-Agent: scoreboard-loadgen\r\nAuthorization: Bearer ",
		scratch: &sync.Pool{New: func() any {
			return &scratch{
				mac:    hmac.New(sha256.New, []byte(keySecret)),
				forged: hmac.New(sha256.New, []byte("not "+keySecret)),
			}
		}},
		second: &atomic.Pointer[timestamp]{},
	}
}

// now is the timestamp of a signature. Its text is formatted once a second.
func (c *Composer) now() *timestamp {
	unix := time.Now().Unix()
	s := c.second.Load()
	if s == nil || s.unix != unix {
		s = &timestamp{unix, time.Unix(unix, 0).UTC().Format(time.RFC3339)}
		c.second.Store(s)
	}
	return s
}

// AppendRequest appends request n, authorized by token.
func (c *Composer) AppendRequest(b []byte, n uint64, token string) []byte {
	k, write := c.plan.Write(n)
	if !write {
		b = c.appendRead(append(append(b, "GET "...), c.path...), n)
		return append(c.appendHeaders(b, token), "\r\n"...)
	}
	s := c.scratch.Get().(*scratch)
	defer c.scratch.Put(s)
	now := c.now()
	path := "/v1/scores/increment"
	if c.plan.Mode == plan.Batch {
		path = "/v1/scores/increments"
		s.body = c.appendBatch(s.body[:0], s, k, now)
	} else {
		e := c.events.At(k)
		s.body = c.appendIncrement(s.body[:0], s, &e, now, true)
	}
	b = append(append(append(b, "POST "...), c.path...), path...)
	b = append(c.appendHeaders(b, token), "Content-Type: application/json\r\n"...)
	switch c.plan.Mode {
	case plan.Async:
		b = append(b, "Prefer: respond-async\r\n"...)
	case plan.Batch:
		b = c.appendSignature(b, s, path, now)
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(s.body)), 10)
	return append(append(b, "\r\n\r\n"...), s.body...)
}

func (c *Composer) appendHeaders(b []byte, token string) []byte {
	return append(append(append(b, c.headers...), token...), "\r\n"...)
}

// appendRead appends the path of a read: the top and a user's rank alternate.
func (c *Composer) appendRead(b []byte, n uint64) []byte {
	user := c.events.At(n / 2).User
	board := c.plan.Board(user)
	if n%2 == 0 {
		b = append(b, "/v1/leaderboard/top?limit=10"...)
		if board != "" {
			b = append(append(b, "&board="...), url.QueryEscape(board)...)
		}
		return b
	}
	b = append(c.plan.AppendUserID(append(b, "/v1/users/"...), user), "/rank"...)
	if board != "" {
		b = append(append(b, "?board="...), url.QueryEscape(board)...)
	}
	return b
}

func (c *Composer) appendBatch(b []byte, s *scratch, k uint64, now *timestamp) []byte {
	b = append(b, `{"items":[`...)
	first := k * uint64(c.plan.BatchSize)
	for i := range uint64(c.plan.BatchSize) {
		if i > 0 {
			b = append(b, ',')
		}
		e := c.events.At(first + i)
		b = c.appendIncrement(b, s, &e, now, false)
	}
	return append(b, "]}"...)
}

// appendIncrement appends the body of an increment, signed by the field scheme
// unless it is part of a batch.
func (c *Composer) appendIncrement(b []byte, s *scratch, e *plan.Event, now *timestamp, signed bool) []byte {
	b = c.plan.AppendUserID(append(b, `{"user_id":"`...), e.User)
	b = strconv.AppendInt(append(b, `","delta":`...), e.Delta, 10)
	b = e.AppendID(append(b, `,"event_id":"`...))
	b = append(append(b, `","timestamp":"`...), now.text...)
	board := c.plan.Board(e.User)
	if signed && c.keyID != "" {
		mac := s.mac
		if e.Kind == record.Forged {
			mac = s.forged
		}
		t := append(c.plan.AppendUserID(s.text[:0], e.User), '|')
		t = append(strconv.AppendInt(t, e.Delta, 10), '|')
		t = append(append(e.AppendID(t), '|'), now.text...)
		if board != "" {
			t = append(append(t, '|'), board...)
		}
		b = s.appendMAC(append(b, `","signature":"`...), mac, t)
		b = append(append(b, `","key_id":`...), c.keyIDJSON...)
	} else {
		b = append(b, '"')
	}
	if board != "" {
		b = append(append(append(b, `,"board":"`...), board...), '"') // board names need no escaping
	}
	return append(b, '}')
}

// appendSignature appends the headers of the header scheme for the body.
func (c *Composer) appendSignature(b []byte, s *scratch, path string, now *timestamp) []byte {
	if c.keyID == "" {
		return b
	}
	unix := strconv.FormatInt(now.unix, 10)
	text := wire.HeaderText("POST", path, c.keyID, unix, s.body)
	b = append(append(append(b, wire.HeaderKey+": "...), c.keyID...), "\r\n"...)
	b = append(append(append(b, wire.HeaderTimestamp+": "...), unix...), "\r\n"...)
	b = s.appendMAC(append(b, wire.HeaderSignature+": "+wire.SignatureVersion...), s.mac, text)
	return append(b, "\r\n"...)
}

func (s *scratch) appendMAC(b []byte, mac hash.Hash, text []byte) []byte {
	mac.Reset()
	mac.Write(text)
	s.text = text
	return hex.AppendEncode(b, mac.Sum(s.sum[:0]))
}
