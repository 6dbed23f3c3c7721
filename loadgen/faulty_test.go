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
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// faulty is a proxy in front of a server. It mishandles some increments of
// the load, but not the probes and the increments of the freshness monitor.
type faulty struct {
	URL     string
	proxy   *httputil.ReverseProxy
	backend *instance.Server
	later   sync.WaitGroup

	start   time.Time
	seen    atomic.Int64 // increments of the load
	dropped atomic.Int64 // of them, acknowledged and dropped

	stall   func(since time.Duration) time.Duration // delay of a request
	lose    int64                                   // loses every nth increment
	before  int64                                   // initial number of increments
	double  int64                                   // counts every nth increment twice
	replay  bool                                    // counts repeats
	early   time.Duration                           // acknowledges before it stores
	stale   time.Duration                           // delays frames
	staleBy string                                  // on this kind of stream, ws or sse; empty for both
	forged  bool                                    // does not check signatures
	mute    bool                                    // returns no score
	keeps   bool                                    // records rejected increments, and scores that are not higher
	lax     bool                                    // accepts another delta for a known event
	free    bool                                    // does not limit players
	// change changes responses other than those to increments.
	change   func(path, body string) string
	overload atomic.Bool // rejects every increment
	mu       sync.Mutex
	ids      map[string]bool
}

func newFaulty(t *testing.T, l *faulty) *faulty {
	t.Helper()
	var settings []string
	if l.free {
		settings = []string{"limit-updates-per-minute", "0"}
	}
	if l.backend == nil {
		l.backend = instance.New(t, settings...)
	}
	for _, kind := range []string{instance.WebSocket, instance.EventStream} {
		if l.staleBy == "" || l.staleBy == kind {
			l.backend.Delay(kind, l.stale)
		}
	}
	base, err := url.Parse(l.backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	l.proxy = httputil.NewSingleHostReverseProxy(base)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	l.proxy.Transport = transport
	l.proxy.ErrorLog = log.New(io.Discard, "", 0) // for streams that end with the run
	l.ids = map[string]bool{}
	l.start = time.Now()
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

func (l *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.stall != nil {
		time.Sleep(l.stall(time.Since(l.start)))
	}
	switch {
	case l.mute && strings.HasSuffix(r.URL.Path, "/score"):
		http.Error(w, "", http.StatusForbidden)
	case r.URL.Path == "/v1/scores/increment":
		body, _ := io.ReadAll(r.Body)
		var in wire.IncrementRequest
		_ = json.Unmarshal(body, &in)
		l.increment(w, r, in, body)
	case r.Method == http.MethodPost && dialectWrites[r.URL.Path] != "":
		body, _ := io.ReadAll(r.Body)
		l.dialectWrite(w, r, dialectWrites[r.URL.Path], body)
	case l.change != nil && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/v1/realtime/") &&
		!strings.HasSuffix(r.URL.Path, "/stream"):
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		l.proxy.ServeHTTP(answer, r)
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, l.change(r.URL.Path, answer.Body.String()))
	default:
		l.proxy.ServeHTTP(w, r)
	}
}

// onlyOn replaces a pattern in the responses of one path.
func onlyOn(path, pattern, to string) func(path, body string) string {
	re := regexp.MustCompile(pattern)
	return func(p, body string) string {
		if !strings.HasPrefix(p, path) {
			return body
		}
		return re.ReplaceAllString(body, to)
	}
}

// sign returns the body of a changed request.
func sign(in wire.IncrementRequest) []byte {
	client.Signer{KeyID: instance.KeyID, Secret: instance.Secret}.Fields(&in, time.Now())
	body, _ := json.Marshal(in)
	return body
}

func (l *faulty) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	l.proxy.ServeHTTP(w, r)
}

func (l *faulty) increment(w http.ResponseWriter, r *http.Request, in wire.IncrementRequest, body []byte) {
	switch {
	case l.lax && strings.HasSuffix(in.UserID, "probe") && in.Delta == 6: // the prober's conflict
		_, _ = io.WriteString(w, `{"processed_event_id":"`+in.EventID+`","status":"done"}`)
		return
	case !strings.Contains(in.UserID, "user-"):
		l.pass(w, r, body)
		return
	case l.overload.Load():
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	n := l.seen.Add(1)
	receipt := wire.Receipt{
		UserID:           in.UserID,
		Applied:          in.Delta,
		NewScore:         in.Delta,
		ProcessedEventID: in.EventID,
		RecordedAt:       time.Now().UTC(),
		Status:           wire.StatusDone,
		Version:          1,
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
