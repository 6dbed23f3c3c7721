package loadgen

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// An outcome that no answer told is what the ledger says; one that stays open is
// counted, and its user's score is not known.
func TestUnknownOutcomesAreResolvedByReceipt(t *testing.T) {
	t.Parallel()
	o := load(t, "", "10/1s", nil)
	d := newDraw(&o.Plan, time.Now())
	b := newBook(&o.Plan)
	answers := map[string]string{} // by event id
	for n, answer := range []string{
		`{"user_id":"u","board":"global","processed_event_id":"e","status":"done","applied":7,"new_score":7,"previous_score":0,"version":1}`,
		`{"processed_event_id":"e","status":"pending"}`,
		`{"processed_event_id":"e","status":"rejected","error_code":"forbidden","message":"no"}`,
		"", // never heard of it
	} {
		e := d.event(uint64(n))
		if problem := b.take(e, 0, "i/o timeout", nil); problem == "" {
			t.Errorf("%d: a time-out is no problem", n)
		}
		answers[e.id.String()] = answer
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answers[strings.TrimPrefix(r.URL.Path, "/v1/events/")]
		if answer == "" {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"error_code":"not_found","message":"no such event","request_id":"r"}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := &audit{client: c, plan: &o.Plan, draw: d, book: b, settle: 300 * time.Millisecond, measured: map[string]float64{}}
	if err := a.resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := a.measured["unresolved"]; got != 1 {
		t.Errorf("got %v unresolved, want the one that is pending", got)
	}
	for n, want := range []uint8{sent | acked, sent, sent | refused, sent | refused} {
		if got := *b.state(uint64(n)); got != want {
			t.Errorf("%d: got the state %b, want %b", n, got, want)
		}
	}
	if done, open := d.event(0).user, d.event(1).user; b.expected[done] != 7 || !b.touched[open] || done != open && b.touched[done] {
		t.Errorf("got the scores %v, touched %v", b.expected, b.touched)
	}
}
