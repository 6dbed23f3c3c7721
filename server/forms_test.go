package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Numbers and times count by what they mean, however clients write them.
func TestFormsOfNumbersAndTimes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start("api,relay,projector,gateway,maintenance")
	token, _, err := h.tokens.Mint("alice", "score:update score:admin", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Authorization": {"Bearer " + token}}
	item := func(delta, event, at string) string {
		return `{"user_id":"alice","delta":` + delta + `,"event_id":"` + event + `","timestamp":"` + at + `"}`
	}
	const noon = "2026-11-21T12:00:00Z"
	begun := time.Now().UTC().Truncate(time.Second)
	for _, test := range []struct {
		path, body, want string
		status           int
	}{
		{"/v1/scores/increment", item("5.0", "e1", noon), `"new_score":5,`, 200},
		{"/v1/scores/increment", item("5", "e1", noon), `"replayed":true`, 200},
		{"/v1/scores/increment", item("0.5e1", "e1", "2026-11-21t12:00:00z"), `"replayed":true`, 200},
		{"/v1/scores/increment", item("6.0", "e1", noon), `event_conflict`, 409},
		{"/v1/scores/increment", item("1e999999999", "e2", noon), `delta_out_of_range`, 422},
		{"/v1/scores/increment", item("5.5", "e2", noon), `"field":"delta"`, 400},
		{"/v1/scores/increment", item("5", "e2", "2026-11-21T2:00:00Z"), `"field":"timestamp"`, 400},
		{
			"/v1/scores/increments", `{"items":[` + item("2e0", "e3", noon) + `,` + item("3.0", "e4", noon) + `]}`,
			`"new_score":10,`, 200,
		},
		{
			"/v1/admin/users/alice/adjust", `{"delta":-1.0,"event_id":"e5","reason":"a test"}`, `"new_score":9,`, 200,
		},
	} {
		status, _, body := request(t, http.MethodPost, n.URL+test.path, test.body, header)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s: got %d %s, want %d with %s", test.body, status, body, test.status, test.want)
		}
	}
	for _, path := range []string{
		"/v1/leaderboard/top?at=", "/v1/users/alice/rank?at=", "/v1/users/alice/score?at=",
		"/v1/users/alice/statement?from=", "/v1/users/alice/history?from=",
	} {
		for _, at := range []string{"2026-11-21T12:00:00%2B24:00", "2026-11-21T2:00:00Z", "2026-11-21T12:00:00,5Z"} {
			status, _, body := request(t, http.MethodGet, n.URL+path+at, "", header)
			if status != http.StatusBadRequest {
				t.Errorf("%s%s: got %d %s, want 400", path, at, status, body)
			}
		}
	}
	// A byte order mark is no part of the JSON.
	marked := "\ufeff" + item("1", "e6", noon)
	if status, _, body := request(t, http.MethodPost, n.URL+"/v1/scores/increment", marked, header); status != 200 {
		t.Errorf("a body with a byte order mark: got %d %s", status, body)
	}
	at := begun.In(time.FixedZone("", 3600)).Format(time.RFC3339)
	past := n.URL + "/v1/leaderboard/top?at=" + strings.ReplaceAll(at, "+", "%2B")
	_, _, body := request(t, http.MethodGet, past, "", header)
	if want := `"` + begun.Format(time.RFC3339) + `"`; !strings.Contains(body, want) {
		t.Errorf("at %s: got %s, want the moment in UTC", at, body)
	}
}
