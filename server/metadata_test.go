package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Metadata by every way of writing, read on another node: it is that of the submission that made
// the standing, and only those see it who may.
func TestMetadataThroughTheAPI(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles+",intake", "ingest-async", "true")
	other := h.start(allRoles) // reads
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ada, bob := other.client("ada", ""), other.client("bob", "")
	for _, r := range []client.BoardRequest{
		{Board: "open", Mode: "best", Metadata: "public"}, {Board: "own", Metadata: "self"}, {Board: "bare"},
	} {
		if b, err := root.CreateBoard(t.Context(), r); err != nil || b.Metadata != r.Metadata {
			t.Fatalf("got %+v, %v", b, err)
		}
	}
	submit := func(user, board, event string, delta int64, metadata string) error {
		_, err := root.Submit(t.Context(), client.Increment{
			User: user, Board: board, EventID: event, Delta: delta, Metadata: json.RawMessage(metadata),
		})
		return err
	}
	deep := strings.Repeat("[", 9) + strings.Repeat("]", 9)
	for _, step := range []struct {
		user, board, event string
		delta              int64
		metadata           string
		want               wire.Code
	}{
		{"ada", "open", "e1", 50, `{"b": 1.0, "a": "<é>"}`, ""},
		{"ada", "open", "e1", 50, `{"a":"\u003cé>","b":1}`, ""}, // the same, written otherwise
		{"ada", "open", "e1", 50, `{"a":"<é>","b":2}`, wire.CodeEventConflict},
		{"ada", "open", "e1", 50, ``, wire.CodeEventConflict},
		{"ada", "open", "e2", 40, `{"worse":true}`, ""},
		{"bob", "open", "e1", 30, `{"bob":1}`, ""},
		{"ada", "own", "e3", 1, `{"n":1}`, ""},
		{"ada", "own", "e4", 1, `{"n":2}`, ""},
		{"ada", "bare", "e5", 1, `{}`, wire.CodeInvalidRequest},
		{"ada", "open", "e5", 60, `[1]`, wire.CodeInvalidRequest},
		{"ada", "open", "e5", 60, `{"a":1,"a":1}`, wire.CodeInvalidRequest},
		{"ada", "open", "e5", 60, `{"a":` + deep + `}`, wire.CodeInvalidRequest},
		{"ada", "open", "e5", 60, `{"a":"` + strings.Repeat("x", 1024) + `"}`, wire.CodeInvalidRequest},
		{"ada", "open", "e5", 60, `{"a":9007199254740993}`, wire.CodeInvalidRequest},
	} {
		if err := submit(step.user, step.board, step.event, step.delta, step.metadata); wire.CodeOf(err) != step.want {
			t.Errorf("%s of %s with %s: got %v, want %q", step.event, step.user, step.metadata, err, step.want)
		}
	}
	place := func(c *client.Client, board, user string) wire.Object {
		t.Helper()
		p, err := c.Score(t.Context(), user, client.PlaceQuery{Board: board, Neighbours: 2, MinVersion: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range p.Neighbours {
			if row.UserID == user && row.Metadata != p.Metadata {
				t.Errorf("%s on %s: %q in the row, %q beside it", user, board, row.Metadata, p.Metadata)
			}
		}
		return p.Metadata
	}
	first, second := wire.Object(`{"a":"\u003cé\u003e","b":1}`), wire.Object(`{"n":2}`)
	for _, c := range []struct {
		by          *client.Client
		board, user string
		want        wire.Object
	}{
		{ada, "open", "ada", first},
		{bob, "open", "ada", first},
		{root, "open", "ada", first},
		{ada, "own", "ada", second},
		{bob, "own", "ada", ""},
		{root, "own", "ada", second},
	} {
		// A standing has none while the ranking is behind the score.
		h.await(fmt.Sprintf("%s on %s with %q", c.user, c.board, c.want), func() bool {
			return place(c.by, c.board, c.user) == c.want
		})
	}
	top := func(c *client.Client, board string) map[string]wire.Object {
		t.Helper()
		var page client.Top
		h.await("a page of "+board, func() bool {
			var err error
			page, err = c.Top(t.Context(), client.TopQuery{Board: board, MinVersion: 1})
			return err == nil && !page.Degraded
		})
		out := make(map[string]wire.Object)
		for _, e := range page.Entries {
			out[e.UserID] = e.Metadata
		}
		return out
	}
	h.await("both on the board", func() bool {
		got := top(bob, "open")
		return got["ada"] == first && got["bob"] == `{"bob":1}`
	})
	if got := top(bob, "own")["ada"]; got != "" {
		t.Errorf("bob reads %s on a board that shows it to the user alone", got)
	}
	h.await("the list", func() bool {
		list, err := bob.Users(t.Context(), "open", []string{"ada", "bob"})
		return err == nil && len(list.Entries) == 2 && list.Entries[0].Metadata == first
	})
	statement, err := ada.Statement(t.Context(), "ada", client.StatementQuery{Board: "open"})
	if err != nil || len(statement.Entries) != 2 || statement.Entries[0].Metadata != `{"worse":true}` {
		t.Errorf("got %+v, %v", statement, err)
	}

	// The best is reversed: the next best shows its own.
	if _, err := root.Reverse(t.Context(), "e1", client.ReverseRequest{UserID: "ada", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	h.await("ada with the second score", func() bool { return top(bob, "open")["ada"] == `{"worse":true}` })

	// Who hides is shown without it, under a pseudonym; to the user it stays.
	for _, visibility := range []string{"pseudonym", "private"} {
		if _, err := bob.SetPrivacy(t.Context(), "bob", visibility); err != nil {
			t.Fatal(err)
		}
		h.await("bob to be "+visibility, func() bool {
			_, shown := top(ada, "open")["bob"]
			return !shown
		})
		for user, metadata := range top(ada, "open") {
			if metadata != "" && user != "ada" {
				t.Errorf("%s: %s has %s", visibility, user, metadata)
			}
		}
		h.await(visibility+": bob to read his own", func() bool { return place(bob, "open", "bob") == `{"bob":1}` })
	}
	if _, err := bob.SetPrivacy(t.Context(), "bob", "public"); err != nil {
		t.Fatal(err)
	}

	// Accepted for later.
	token := h.token("ada", "", time.Hour)
	header := bearer(token)
	header.Set("Prefer", "respond-async")
	body := fmt.Sprintf(`{"user_id":"ada","delta":70,"event_id":"a1","board":"open","timestamp":%q,`+
		`"metadata":{"late":"&"}}`,
		time.Now().UTC().Format(time.RFC3339))
	if status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", body, header); status != 202 {
		t.Fatalf("got %d %s, want 202", status, answer)
	}
	if last := n.outcome(t, token, "ada", "a1"); last.Status != wire.StatusDone {
		t.Fatalf("got %+v", last)
	}
	h.await("what was accepted", func() bool { return top(bob, "open")["ada"] == `{"late":"\u0026"}` })

	// A signature in the body does not cover it.
	key, err := root.CreateKey(t.Context(), client.KeyRequest{Name: "game"})
	if err != nil {
		t.Fatal(err)
	}
	r := wire.IncrementRequest{UserID: "ada", Delta: 1, EventID: "e8", Board: "open"}
	client.Signer{KeyID: key.KeyID, Secret: key.Secret}.Fields(&r, time.Now())
	body = fmt.Sprintf(`{"user_id":"ada","delta":1,"event_id":"e8","board":"open","timestamp":%q,`+
		`"key_id":%q,"signature":%q,"metadata":{}}`, r.Timestamp, r.KeyID, r.Signature)
	status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", body, bearer(token))
	if status != http.StatusBadRequest || !strings.Contains(answer, `"field":"metadata"`) {
		t.Errorf("metadata with a field signature: got %d %s, want a 400", status, answer)
	}

	// An erasure removes it everywhere.
	if _, err := root.Erase(t.Context(), "ada", "test"); err != nil {
		t.Fatal(err)
	}
	conn := backends.Connect(t, h.postgres)
	h.await("the erasure", func() bool {
		return conn.Count(t, `select
    (select count(*) from scores where metadata like '%late%' or metadata like '%n%:2%')
    + (select count(*) from user_score_histories where metadata is not null and metadata not like '%bob%')`) == 0
	})
}

// metadataMark is in the metadata of the hidden user, and nowhere else.
const metadataMark = "roadster-3c9e"

// No read or page that strangers can open shows the metadata of a hidden user, nobody is shown that
// of an erased one, and no stream or dialect has any. The paths come from the documents of the APIs, so
// that a new one is walked too.
func TestNoReadShowsHiddenMetadata(t *testing.T) {
	t.Parallel()
	r := newPrivacyRig(t)
	root := r.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	public := "public"
	for _, board := range []string{"global", "highscore", "plain"} {
		if b, err := root.SetBoard(t.Context(), board, client.BoardChange{Metadata: &public}); err != nil ||
			b.Metadata != public {
			t.Fatalf("%s: got %+v, %v", board, b, err)
		}
		live := r.follow(t, "/v1/realtime/leaderboard?delta=1&limit=100&board="+board, r.tokens["a stranger's"])
		r.harness.await("the first frame", func() bool { return strings.Contains(live.read(), hiddenUser) })
		if _, err := root.Submit(t.Context(), client.Increment{
			User: hiddenUser, Board: board, Delta: 200, EventID: "mark-" + board,
			Metadata: json.RawMessage(`{"car":"` + metadataMark + `"}`),
		}); err != nil {
			t.Fatal(err)
		}
		var text string
		r.harness.await("the change in the stream", func() bool {
			text += live.read()
			return strings.Contains(text, hiddenUser)
		})
		if text += live.end(); strings.Contains(text, metadataMark) {
			t.Errorf("%s: a stream has metadata: %s", board, text)
		}
	}
	shown := func(token string) (found []string) {
		for _, path := range r.reads(t) {
			if _, body := r.read(t, path, r.tokens[token]); strings.Contains(body, metadataMark) {
				found = append(found, path)
			}
		}
		return found
	}
	for _, token := range []string{"a stranger's", "an operator's"} {
		r.harness.await("metadata in reads", func() bool {
			_, body := r.read(t, "/v1/leaderboard/top?board=highscore", r.tokens[token])
			return strings.Contains(body, metadataMark)
		})
		found := shown(token)
		if len(found) < 8 { // or the walk below shows nothing
			t.Errorf("with %s token, reads show it while the user is public: %v", token, found)
		}
		for _, path := range found {
			if !strings.HasPrefix(path, "/v1/leaderboard/") && !strings.HasPrefix(path, "/v1/users/") {
				t.Errorf("with %s token, %s shows metadata", token, path)
			}
		}
	}
	for _, visibility := range []string{"pseudonym", "friends", "private"} {
		r.hide(t, visibility)
		for _, token := range []string{"nobody's", "a stranger's"} {
			if found := shown(token); len(found) > 0 {
				t.Errorf("%s: with %s token, reads show metadata: %v", visibility, token, found)
			}
		}
		if _, body := r.read(t, "/v1/leaderboard/me", r.tokens["their own"]); !strings.Contains(body, metadataMark) {
			t.Errorf("%s: the user's own standing has no metadata: %s", visibility, body)
		}
	}
	if _, err := root.Erase(t.Context(), hiddenUser, "test"); err != nil {
		t.Fatal(err)
	}
	conn := backends.Connect(t, r.postgres)
	r.harness.await("the erasure", func() bool {
		return conn.Count(t, `select (select count(*) from scores where metadata is not null)
    + (select count(*) from user_score_histories where metadata is not null)`) == 0
	})
	for token := range r.tokens {
		if found := shown(token); len(found) > 0 {
			t.Errorf("after the erasure, with %s token, reads show metadata: %v", token, found)
		}
	}
}

// A past board shows the metadata of users who have not moved since, and of no others: it would be of another
// submission. The rule of the board decides who sees it, as in other reads.
func TestMetadataOfPastBoards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct")
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	readers := map[string]*client.Client{"ada": n.client("ada", ""), "bob": n.client("bob", ""), "a server": root}
	const ofAda = wire.Object(`{"of":"ada"}`)
	for board, rule := range map[string]string{"open": "public", "own": "self"} {
		if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
			Board: board, Mode: "latest", Metadata: rule,
		}); err != nil {
			t.Fatal(err)
		}
		submit := func(user string, delta int64, metadata string) time.Time {
			t.Helper()
			receipt, err := root.Submit(t.Context(), client.Increment{
				User: user, Board: board, Delta: delta, Metadata: json.RawMessage(metadata),
			})
			if err != nil {
				t.Fatal(err)
			}
			return receipt.RecordedAt
		}
		submit("ada", 5, string(ofAda))
		at := submit("bob", 4, `{"of":"bob, then"}`)
		submit("bob", 4, `{"of":"bob, later"}`) // the same score
		for who, by := range readers {
			inTop, inPlace := wire.Object(""), ofAda
			if rule == "public" {
				inTop = ofAda
			} else if who == "bob" {
				inPlace = ""
			}
			h.await(board+" of the past, for "+who, func() bool {
				top, err := by.Top(t.Context(), client.TopQuery{Board: board, At: at})
				if err != nil || len(top.Entries) != 2 {
					return false
				}
				of, err := by.Around(t.Context(), "ada", client.PlaceQuery{Board: board, At: at, Neighbours: 1})
				if err != nil || len(of.Neighbours) != 2 {
					return false
				}
				if top.Entries[1].Metadata != "" || of.Neighbours[1].Metadata != "" {
					t.Errorf("%s, for %s: bob has the metadata of a later submission", board, who)
				}
				return top.Entries[0].Metadata == inTop && of.Metadata == inPlace
			})
		}
	}
}
