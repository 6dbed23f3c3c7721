package server_test

import (
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// submit sends an increment as its user and returns the status and the body.
func (n *node) submit(user, event, delta string, header http.Header) (int, string) {
	n.h.t.Helper()
	return n.post(
		"/v1/scores/increment",
		user,
		`{"user_id":"`+user+`","event_id":"`+event+`","delta":`+delta+`,"timestamp":"`+time.Now().
			UTC().
			Format(time.RFC3339)+
			`"}`,
		header,
	)
}

func (n *node) post(path, user, body string, header http.Header) (int, string) {
	n.h.t.Helper()
	req, err := http.NewRequestWithContext(n.h.t.Context(), http.MethodPost, n.URL+path, strings.NewReader(body))
	if err != nil {
		n.h.t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+n.h.token(user, "", time.Hour))
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		n.h.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		n.h.t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

// A user cannot be in two countries within the window, by the proxy's header or by
// the country file. Only a trusted proxy's headers count.
func TestImpossibleTravel(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	file := filepath.Join(t.TempDir(), "countries.mmdb")
	fixtures.WriteCountries(t, file, map[string]string{"192.0.2.0/24": "DE", "198.51.100.0/24": "FR"})
	h.settings["anomaly-travel"], h.settings["anomaly-country-header"], h.settings["anomaly-country-file"] = "enforce",
		"CF-IPCountry", file
	behind, open := h.start(allRoles, "trusted-proxies", "127.0.0.1"), h.start(allRoles, "trusted-proxies",
		"192.0.2.200")
	says := func(country string) http.Header { return http.Header{"Cf-Ipcountry": {country}} }
	from := func(address string) http.Header { return http.Header{"X-Forwarded-For": {address}} }
	for _, c := range []struct {
		what        string
		node        *node
		user, event string
		header      http.Header
		status      int
		answer      string
	}{
		{"the proxy says Germany", behind, "alice", "a1", says("DE"), 200, `"new_score":1`},
		{"the proxy says France", behind, "alice", "a2", says("FR"), 422, "rule_violated"},
		{"the first event again, from France", behind, "alice", "a1", says("FR"), 200, `"replayed":true`},
		{"the proxy does not know", behind, "alice", "a3", says("XX"), 200, `"new_score":2`},
		{"an address in Germany", behind, "bob", "b1", from("192.0.2.1"), 200, `"new_score":1`},
		{"another one in Germany", behind, "bob", "b2", from("192.0.2.77"), 200, `"new_score":2`},
		{"an address in France", behind, "bob", "b3", from("198.51.100.1"), 422, "rule_violated"},
		{"an address without a country", behind, "bob", "b4", from("203.0.113.1"), 200, `"new_score":3`},
		{"the client says Germany", open, "carol", "c1", says("DE"), 200, `"new_score":1`},
		{"the client says France", open, "carol", "c2", says("FR"), 200, `"new_score":2`},
		{"the client says an address in Germany", open, "carol", "c3", from("192.0.2.1"), 200, `"new_score":3`},
		{"the client says an address in France", open, "carol", "c4", from("198.51.100.1"), 200, `"new_score":4`},
	} {
		if status, answer := c.node.submit(c.user, c.event, "1", c.header); status != c.status ||
			!strings.Contains(answer, c.answer) {
			t.Errorf("%s: got %d %s, want %d with %s", c.what, status, answer, c.status, c.answer)
		}
	}
}

// A suspicious event is ignored, logged, flagged for review or rejected, by the mode
// of its rule; each mode does only its own part.
func TestAnomalyModes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.settings["anomaly-frequency-max"] = "1/1h"
	db := backends.Connect(t, h.postgres)
	for _, c := range []struct {
		mode   string
		status int
		rows   int64 // in the ledger, of two submitted
		flags  int64
		logged int // lines
	}{
		{"off", http.StatusOK, 2, 0, 0},
		{"log", http.StatusOK, 2, 0, 1},
		{"flag", http.StatusOK, 2, 1, 0},
		{"enforce", http.StatusUnprocessableEntity, 1, 1, 0},
	} {
		n := h.start("api", "anomaly-frequency", c.mode)
		if status, answer := n.submit(c.mode, "first", "1", nil); status != http.StatusOK {
			t.Errorf("%s, the first: got %d %s", c.mode, status, answer)
		}
		for range 2 { // a repeat is not logged again
			if status, answer := n.submit(c.mode, "second", "1", nil); status != c.status {
				t.Errorf("%s, over the limit: got %d %s, want %d", c.mode, status, answer, c.status)
			}
		}
		// What the alert Anomalies counts.
		if c.mode != "off" {
			if found := n.metric(t, "scoreboard_anomalies_total", `mode="`+c.mode+`"`); found < 1 {
				t.Errorf("%s: %v anomalies are counted, want at least 1", c.mode, found)
			}
		}
		n.stop()
		logged := 0
		for line := range strings.Lines(n.Log()) {
			if strings.Contains(line, `"anomaly detected"`) {
				logged++
				for _, part := range []string{
					`"level":"WARN"`, `"rule":"frequency"`, `"user":"log"`,
					`"event":"second"`, `"board":"global"`,
				} {
					if !strings.Contains(line, part) {
						t.Errorf("the log line %s lacks %s", line, part)
					}
				}
			}
		}
		if logged != c.logged {
			t.Errorf("%s: logged %d times, want %d", c.mode, logged, c.logged)
		}
		if rows := db.Count(t, `select count(*) from user_score_histories where user_id = $1`, c.mode); rows != c.rows {
			t.Errorf("%s: %d rows in the ledger, want %d", c.mode, rows, c.rows)
		}
		if flags := db.Count(t, `select count(*) from flags where user_id = $1`, c.mode); flags != c.flags {
			t.Errorf("%s: %d flags, want %d", c.mode, flags, c.flags)
		}
	}
}

// A shorter retention.addresses deletes older addresses without a restart, and keeps
// younger ones.
func TestChangeAddressRetention(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.settings["retention-addresses"] = "0s"
	n := h.start("api")
	h.start("maintenance")
	for _, event := range []string{"older", "younger"} {
		if status, answer := n.submit("alice", event, "1", nil); status != http.StatusOK {
			t.Fatalf("got %d %s", status, answer)
		}
	}
	db := backends.Connect(t, h.postgres)
	db.Do(
		t,
		`update user_score_histories set recorded_at = recorded_at - interval '90 minutes' where event_text = 'older'`,
	)
	root := n.client("root", auth.ScopeAdmin)
	change := func(value string) {
		t.Helper()
		if _, err := root.ChangeSetting(t.Context(), "retention.addresses",
			client.SettingRequest{Value: &value, Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(event string) bool {
		return db.Count(
			t,
			`select count(*) from user_score_histories where event_text = $1
			and address is not null and user_agent is not null`,
			event,
		) == 1
	}
	if change("2h"); !kept("older") || !kept("younger") {
		t.Fatal("the older event has no address")
	}
	change("1h")
	h.await("the address from 90 minutes ago to be deleted", func() bool { return !kept("older") })
	if !kept("younger") {
		t.Error("the younger address is deleted")
	}
}

// Repeating a recorded event returns its receipt, also when the board would reject
// the event now.
func TestRepeatIgnoresNewBounds(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	if status, answer := n.submit("alice", "big", "500", nil); status != http.StatusOK {
		t.Fatalf("got %d %s", status, answer)
	}
	db := backends.Connect(t, h.postgres)
	db.Do(t, `update boards set max_delta = 100 where board_id = 'global'`)
	h.await("the node to know the bounds", func() bool {
		_, action := n.post("/v1/actions", "bob", "{}", nil)
		return strings.Contains(action, `"max_delta":100,`)
	})
	if status, answer := n.submit("bob", "big", "500", nil); status != http.StatusUnprocessableEntity ||
		!strings.Contains(answer, "delta_out_of_range") {
		t.Errorf("another user's: got %d %s, want a 422", status, answer)
	}
	if status, answer := n.submit("alice", "big", "500", nil); status != http.StatusOK ||
		!strings.Contains(answer, `"replayed":true`) {
		t.Errorf("repeated: got %d %s, want its receipt", status, answer)
	}
	if status, answer := n.submit("alice", "big", "501", nil); status != http.StatusConflict ||
		!strings.Contains(answer, "event_conflict") {
		t.Errorf("with another delta: got %d %s, want a conflict", status, answer)
	}
	if status, answer := n.submit("alice", "other", "101", nil); status != http.StatusUnprocessableEntity {
		t.Errorf("another event: got %d %s, want a 422", status, answer)
	}
	for name, delta := range map[string]string{"0": "0", "5.5": "5.5"} {
		if status, answer := n.submit("alice", "none", delta, nil); status != http.StatusBadRequest {
			t.Errorf("delta %s: got %d %s, want a 400", name, status, answer)
		}
	}
	if rows := db.Count(t, `select count(*) from user_score_histories where user_id = 'alice'`); rows != 1 {
		t.Errorf("alice has %d rows, want 1", rows)
	}
}
