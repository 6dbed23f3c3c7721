package loadgen

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// A probe that was refused and is in the ledger all the same is found out.
func TestRefusedProbesAreLookedUp(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/recorded") {
			_, _ = w.Write([]byte(`{"user_id":"probe","processed_event_id":"recorded","status":"done","applied":7,"new_score":7,"version":1}`))
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error_code":"not_found","message":"no such event","request_id":"r"}`))
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := &audit{client: c, prober: "probe", absent: []string{"never", "recorded", "not"}, measured: record.Measured{"refused.recorded": 2}}
	if err := a.absentees(t.Context()); err != nil || a.measured["refused.recorded"] != 3 {
		t.Errorf("got %v, %v", a.measured, err)
	}
}

// In a short run each event is looked up, refused ones too, however few they
// are among the numbers of the book.
func TestOfFewEventsAllAreLookedUp(t *testing.T) {
	t.Parallel()
	o := load(t, "", "20/1s", nil)
	d := newDraw(&o.Plan, time.Now())
	b := newBook(&o.Plan)
	want := map[string]int{}
	for n := range uint64(20) {
		status, body := http.StatusUnauthorized, `{"error_code":"unauthorized","message":"no","request_id":"r"}`
		if n%2 == 0 {
			status, body = http.StatusOK, `{"processed_event_id":"e","status":"done"}`
		}
		e := d.event(n)
		b.take(e, status, "", []byte(body))
		want[e.id.String()]++
	}
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[strings.TrimPrefix(r.URL.Path, "/v1/events/")]++
		mu.Unlock()
		_, _ = w.Write([]byte(`{"user_id":"u","processed_event_id":"e","status":"done","applied":7,"new_score":7,"version":1}`))
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := &audit{client: c, plan: &o.Plan, draw: d, book: b, lost: map[uint64]bool{}, measured: map[string]float64{}}
	if err := a.sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(asked, want) || len(want) != 20 {
		t.Errorf("got the lookups %v, want %v", asked, want)
	}
	if got := a.measured; got["refused.recorded"] != 10 || got["audit.found"] != 0 { // the rows say nothing of a score before
		t.Errorf("got %v", got)
	}
}

func TestSomeOfManyAreFromAllOverThem(t *testing.T) {
	t.Parallel()
	var s some
	for n := range uint64(100 * sampled) {
		s.offer(n)
	}
	tenths := [10]int{}
	seen := map[uint64]bool{}
	for _, n := range s.kept {
		seen[n] = true
		tenths[n/(10*sampled)]++
	}
	if len(seen) != sampled {
		t.Errorf("got %d different numbers, want %d", len(seen), sampled)
	}
	for i, n := range tenths { // 50 each; the odds against 10 are 10^10 to one
		if n < sampled/50 {
			t.Errorf("got %d of the %d. tenth", n, i+1)
		}
	}
}
