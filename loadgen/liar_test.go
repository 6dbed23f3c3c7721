package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// liar stands before an honest server and lies about some increments of the
// load; of probes and the pulse it tells the truth.
type liar struct {
	URL   string
	proxy *httputil.ReverseProxy
	back  *clienttest.Server
	later sync.WaitGroup

	began   time.Time
	seen    atomic.Int64 // increments of the load
	dropped atomic.Int64 // of them, answered and thrown away
	players atomic.Int64 // updates of the player

	stall   func(since time.Duration) time.Duration // how long a request waits
	lose    int64                                   // every so manieth
	before  int64                                   // increments that it has seen before, so that it need not see many
	double  int64
	replay  bool          // repeats count anew
	early   time.Duration // answers so long before it stores
	stale   time.Duration // frames come so late
	staleBy string        // on this kind of stream, ws or sse; on both where it is empty
	forged  bool          // signatures are not checked
	mute    bool          // tells nobody's score
	keeps   bool          // records what it refuses
	lax     bool          // takes another delta for an event that it knows
	free    bool          // players are not limited
	hides   string        // a family of metrics
	// change is what becomes of an answer that is not to an increment.
	change func(path, body string) string
	// loadOnly spares what is beside the load the stall.
	loadOnly bool
	mu       sync.Mutex
	ids      map[string]bool
}

func newLiar(t *testing.T, l *liar) *liar {
	t.Helper()
	l.back = clienttest.New(t)
	base, err := url.Parse(l.back.URL)
	if err != nil {
		t.Fatal(err)
	}
	l.proxy = httputil.NewSingleHostReverseProxy(base)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	l.proxy.Transport = transport
	l.proxy.ErrorLog = log.New(io.Discard, "", 0) // streams that end with the run
	l.ids = map[string]bool{}
	l.began = time.Now()
	l.seen.Store(l.before)
	front := httptest.NewServer(l)
	l.URL = front.URL
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		l.later.Wait()
		transport.CloseIdleConnections()
	})
	return l
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.stall != nil && !l.loadOnly {
		time.Sleep(l.stall(time.Since(l.began)))
	}
	switch {
	case r.URL.Path == "/metrics":
		for _, f := range families {
			if f != l.hides {
				_, _ = io.WriteString(w, "# TYPE "+f+" gauge\n")
			}
		}
	case r.URL.Path == "/v1/realtime/leaderboard" && l.stale > 0 && (l.staleBy == "" || l.staleBy == kindOf(r)):
		l.delayed(w, r)
	case l.mute && strings.HasSuffix(r.URL.Path, "/score"):
		http.Error(w, "", http.StatusForbidden)
	case r.URL.Path == "/v1/scores/increment":
		body, _ := io.ReadAll(r.Body)
		var in protocol.IncrementRequest
		_ = json.Unmarshal(body, &in)
		l.increment(w, r, in, body)
	case l.change != nil && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/v1/realtime/"):
		answer := httptest.NewRecorder()
		l.proxy.ServeHTTP(answer, r)
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, l.change(r.URL.Path, answer.Body.String()))
	default:
		l.proxy.ServeHTTP(w, r)
	}
}

// onlyOn is a change of the answers of one path, by a pattern.
func onlyOn(path, pattern, to string) func(path, body string) string {
	re := regexp.MustCompile(pattern)
	return func(p, body string) string {
		if !strings.HasPrefix(p, path) {
			return body
		}
		return re.ReplaceAllString(body, to)
	}
}

// sign makes a request's body after it was changed.
func sign(in protocol.IncrementRequest) []byte {
	client.Signer{KeyID: clienttest.KeyID, Secret: clienttest.Secret}.Fields(&in, time.Now())
	body, _ := json.Marshal(in)
	return body
}

func (l *liar) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	l.proxy.ServeHTTP(w, r)
}

func (l *liar) increment(w http.ResponseWriter, r *http.Request, in protocol.IncrementRequest, body []byte) {
	switch {
	case strings.HasSuffix(in.UserID, "player") && !l.free && l.players.Add(1) > 10:
		w.Header().Set("Retry-After", "6")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error_code":"rate_limited","message":"slow down","request_id":"r"}`)
		return
	case l.lax && strings.HasSuffix(in.UserID, "probe") && in.Delta == 6: // the prober's conflict
		_, _ = io.WriteString(w, `{"processed_event_id":"`+in.EventID+`","status":"done"}`)
		return
	case !strings.Contains(in.UserID, "user-"):
		l.pass(w, r, body)
		return
	}
	if l.loadOnly {
		l.stall(0)
	}
	n := l.seen.Add(1)
	receipt := protocol.Receipt{
		UserID: in.UserID, Applied: in.Delta, NewScore: in.Delta, ProcessedEventID: in.EventID, RecordedAt: time.Now().UTC(), Status: protocol.StatusDone, Version: 1,
	}
	switch {
	case l.lose > 0 && n%l.lose == 0:
		l.dropped.Add(1)
		_ = json.NewEncoder(w).Encode(receipt)
	case l.double > 0 && n%l.double == 0:
		again := in
		again.EventID = client.NewEventID()
		l.pass(httptest.NewRecorder(), r.Clone(r.Context()), sign(again))
		l.pass(w, r, body)
	case l.early > 0:
		_ = json.NewEncoder(w).Encode(receipt)
		stored := r.Clone(context.WithoutCancel(r.Context()))
		l.later.Go(func() {
			time.Sleep(l.early)
			l.pass(httptest.NewRecorder(), stored, body)
		})
	case l.forged:
		l.pass(w, r, sign(in))
	case l.keeps:
		answer := httptest.NewRecorder()
		l.pass(answer, r.Clone(r.Context()), body)
		if answer.Code == http.StatusUnauthorized {
			l.pass(httptest.NewRecorder(), r, sign(in))
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	case l.replay:
		l.mu.Lock()
		known := l.ids[in.EventID]
		l.ids[in.EventID] = true
		l.mu.Unlock()
		if !known {
			l.pass(w, r, body)
			return
		}
		id := in.EventID
		in.EventID = client.NewEventID()
		answer := httptest.NewRecorder()
		l.pass(answer, r, sign(in))
		_, _ = io.WriteString(w, strings.ReplaceAll(answer.Body.String(), in.EventID, id))
	default:
		l.pass(w, r, body)
	}
}
