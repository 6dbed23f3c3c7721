package loadgen

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
