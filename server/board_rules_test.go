package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Rules apply to signed requests of every kind, and to no board that the key may not write.
func TestRulesThroughTheAPI(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles+",intake", "ingest-async", "true", "auth-signature", "required")
	root := n.client("root", auth.ScopeAdmin)
	for _, board := range []string{"eu", "all"} {
		if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: board}); err != nil {
			t.Fatal(err)
		}
	}
	rules := map[string]client.BoardRuleRequest{"eu": {Regions: []string{"eu"}}, "all": {}}
	for board, rule := range rules {
		if _, err := root.SetBoardRule(t.Context(), board, rule); err != nil {
			t.Fatal(err)
		}
	}
	free, err := root.CreateKey(t.Context(), client.KeyRequest{Name: "free"})
	if err != nil {
		t.Fatal(err)
	}
	limited, err := root.CreateKey(t.Context(), client.KeyRequest{Name: "limited", Boards: []string{"global", "eu"}})
	if err != nil {
		t.Fatal(err)
	}
	token := bearer(h.token("game", auth.ScopeUpdate, time.Hour))
	send := func(key client.Key, path, body, prefer string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		client.Signer{KeyID: key.KeyID, Secret: key.Secret}.Headers(r, []byte(body), time.Now())
		header := r.Header
		header.Set("Authorization", token.Get("Authorization"))
		if prefer != "" {
			header.Set("Prefer", prefer)
		}
		status, _, answer := request(t, http.MethodPost, n.URL+path, body, header)
		return status, answer
	}
	body := func(event string) string {
		return fmt.Sprintf(`{"user_id":"ada","delta":1,"event_id":"%s","timestamp":"%s","attributes":{"region":"eu"}}`,
			event, time.Now().UTC().Format(time.RFC3339))
	}
	reaches := func(what, answer string, boards ...string) {
		t.Helper()
		for _, board := range []string{"global", "eu", "all"} {
			want := 0
			for _, b := range boards {
				if b == board {
					want = 1
				}
			}
			if got := strings.Count(answer, `"board":"`+board+`"`); got != want {
				t.Errorf("%s: %d receipts of board %s, want %d: %s", what, got, board, want, answer)
			}
		}
	}
	_, answer := send(free, "/v1/scores/increment", body("e1"), "")
	reaches("a key without limits", answer, "global", "eu", "all")
	_, answer = send(limited, "/v1/scores/increment", body("e2"), "")
	reaches("a limited key", answer, "global", "eu")
	_, answer = send(limited, "/v1/scores/increments", `{"items":[`+body("e3")+`]}`, "")
	reaches("a batch", answer, "global", "eu")
	for event, key := range map[string]client.Key{"e4": limited, "e5": free} {
		status, answer := send(key, "/v1/scores/increment", body(event), "respond-async")
		if status != http.StatusAccepted {
			t.Fatalf("async: got %d %s, want 202", status, answer)
		}
		h.await("event "+event, func() bool {
			_, _, answer = request(t, http.MethodGet, n.URL+"/v1/events/"+event+"?user_id=ada", "", token)
			return strings.Contains(answer, "receipts")
		})
		if event == "e4" {
			reaches("async with a limited key", answer, "global", "eu")
		} else {
			reaches("async", answer, "global", "eu", "all")
		}
	}
	// The field scheme does not cover attributes.
	r := wire.IncrementRequest{
		UserID: "ada", Delta: 1, EventID: "e6", Attributes: map[string]string{"region": "eu"},
	}
	client.Signer{KeyID: free.KeyID, Secret: free.Secret}.Fields(&r, time.Now())
	signed := fmt.Sprintf(`{"user_id":"ada","delta":1,"event_id":"e6","timestamp":%q,"key_id":%q,"signature":%q,`+
		`"attributes":{"region":"eu"}}`, r.Timestamp, r.KeyID, r.Signature)
	status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", signed, token)
	if status != http.StatusBadRequest || !strings.Contains(answer, `"field":"attributes"`) {
		t.Errorf("attributes with a field signature: got %d %s, want a 400", status, answer)
	}
}
