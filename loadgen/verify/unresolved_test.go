package verify

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// The ledger resolves unknown outcomes. A pending one is counted, and makes its
// user's score uncertain.
func TestUnknownOutcomesAreLookedUp(t *testing.T) {
	t.Parallel()
	p := testPlan(t, "10/1s")
	events := plan.NewEvents(p, time.Now())
	tracker := NewTracker(p)
	responses := map[string]string{} // by event id
	for n, response := range []string{
		`{"user_id":"u","board":"global","processed_event_id":"e","status":"done",` +
			`"applied":7,"new_score":7,"previous_score":0,"version":1}`,
		`{"processed_event_id":"e","status":"pending"}`,
		`{"processed_event_id":"e","status":"rejected","error_code":"forbidden","message":"no"}`,
		"", // unknown
	} {
		e := events.At(uint64(n))
		if problem := tracker.Observe(e, 0, "i/o timeout", nil); problem == "" {
			t.Errorf("%d: a time-out was accepted", n)
		}
		responses[e.ID.String()] = response
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response := responses[strings.TrimPrefix(r.URL.Path, "/v1/events/")]
		if response == "" {
			w.WriteHeader(http.StatusNotFound)
			response = `{"error_code":"not_found","message":"no such event","request_id":"r"}`
		}
		_, _ = w.Write([]byte(response))
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v := &Verifier{
		Client: c, Plan: p, Events: events, Tracker: tracker,
		Settle: 300 * time.Millisecond, Measured: record.Measured{},
	}
	if err := v.resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := v.Measured["unresolved"]; got != 1 {
		t.Errorf("got %v unresolved, want 1, the pending one", got)
	}
	for n, want := range []State{
		Sent | Acked, Sent, Sent | Rejected, Sent | Rejected,
	} {
		if got := tracker.State(uint64(n)); got != want {
			t.Errorf("%d: got the state %b, want %b", n, got, want)
		}
	}
	done, pending := events.At(0).User, events.At(1).User
	if tracker.Expected[done] != 7 || !tracker.Uncertain[pending] || done != pending && tracker.Uncertain[done] {
		t.Errorf("got the scores %v, uncertain %v", tracker.Expected, tracker.Uncertain)
	}
}
