package server_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Without the header signature a dialect writes to the board of its own name only, and reads
// without a token are open there only, unless its setting says otherwise. Boards with a rule
// get what is signed.
func TestUnsignedWritesOfDialects(t *testing.T) {
	t.Parallel()
	h, own := conformanceNode(t)
	names := strings.Join(config.DialectNames, ",")
	global := h.start(allRoles, "transport", "direct", "dialects", names, "dialect-delta-board", "global",
		"dialect-module-board", "global", "dialect-plain-board", "contest-p", "dialect-highscore-board", "contest-h",
		"ingest-actions", "win:1:100")
	optional := h.start(allRoles, "transport", "direct", "dialects", names, "dialect-delta-board", "global",
		"dialect-delta-signature", "optional")
	root := own.client("root", auth.ScopeAdmin)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "arena"}); err != nil {
		t.Fatal(err)
	}
	status, _, answer := request(t, http.MethodPut, own.URL+"/v1/admin/board-rules/arena", `{}`,
		bearer(h.token("root", auth.ScopeAdmin, time.Hour)))
	if status != http.StatusOK {
		t.Fatalf("set the rule: got %d %s", status, answer)
	}
	const path = "/delta/v1/score/update"
	n := 0
	send := func(to *node, signed bool) int {
		t.Helper()
		n++
		body := fmt.Sprintf(`{"userId":"alice","scoreDelta":1,"actionId":"a%d","timestamp":"2026-01-01T00:00:00Z"}`, n)
		header := bearer(h.token("alice", "", time.Hour))
		if signed {
			now := strconv.FormatInt(time.Now().Unix(), 10)
			header.Set(wire.HeaderKey, defaultKey)
			header.Set(wire.HeaderTimestamp, now)
			header.Set(wire.HeaderSignature, wire.SignatureVersion+wire.Sign(defaultSecret,
				wire.HeaderText("POST", path, defaultKey, now, []byte(body))))
		}
		status, _, answer := request(t, http.MethodPost, to.URL+path, body, header)
		if status != http.StatusOK {
			t.Log(answer)
		}
		return status
	}
	for i, c := range []struct {
		to                   *node
		signed               bool
		status               int
		delta, global, arena int // rows of alice afterwards
	}{
		{own, false, 200, 1, 0, 0},
		{own, true, 200, 2, 0, 1},
		{global, false, 401, 2, 0, 1},
		{global, true, 200, 2, 1, 2},
		{optional, false, 200, 2, 2, 3},
	} {
		if got := send(c.to, c.signed); got != c.status {
			t.Errorf("%d: got %d, want %d", i, got, c.status)
		}
		for board, want := range map[string]int{"delta": c.delta, "global": c.global, "arena": c.arena} {
			if got := h.entries(t, own, "alice", board); got != want {
				t.Errorf("%d: %d rows on %s, want %d", i, got, board, want)
			}
		}
	}
	module := `{"userId":"alice","actionId":"win","scoreIncrement":5,"timestamp":"2026-01-01T00:00:00Z"}`
	if status, _, _ := request(t, http.MethodPost, global.URL+"/api/v1/scores/update", module,
		bearer(h.token("alice", "", time.Hour))); status != http.StatusUnauthorized {
		t.Errorf("module on global: got %d, want 401", status)
	}
	token := global.startAction(t, "alice", `{"action_id":"m1"}`)
	for path, body := range map[string]string{
		"/scores":           `{"score":5}`,
		"/v1/scores/update": strings.ReplaceAll(dialectRequests["POST /v1/scores/update"], "TOKEN", token),
	} {
		if status, _, answer := request(t, http.MethodPost, global.URL+path, body,
			bearer(h.token("alice", "", time.Hour))); status != http.StatusUnauthorized ||
			!strings.Contains(answer, "not signed with a valid key") {
			t.Errorf("%s on another board: got %d %s, want a 401 for the signature", path, status, answer)
		}
	}
	for to, want := range map[*node]int{own: 200, global: 401, optional: 401} {
		if status, body := h.get(t, to.URL+"/delta/v1/leaderboard/top", nil); status != want {
			t.Errorf("the top without a token: got %d %s, want %d", status, body, want)
		}
		if status, body := h.get(t, to.URL+"/v1/leaderboard/top?board=delta", nil); status != http.StatusUnauthorized {
			t.Errorf("the native top without a token: got %d %s, want 401", status, body)
		}
	}
}
