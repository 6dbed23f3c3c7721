package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
)

// Users by their visibility. Each has a display name that begins with Secret.
const (
	veiled  = "veiled-1111"  // pseudonym
	guarded = "guarded-2222" // friends
	absent  = "absent-3333"  // private
	open    = "open-4444"    // public
	ally    = "ally-5555"    // a friend of all of them
)

// hiddenUsers are those who hide, with what they choose.
var hiddenUsers = map[string]string{veiled: "pseudonym", guarded: "friends", absent: "private"}

// namedIn reports which user a text names.
func namedIn(text string) (found []string) {
	for user := range hiddenUsers {
		if strings.Contains(text, user) || strings.Contains(text, "Secret "+user) {
			found = append(found, user)
		}
	}
	return found
}

// introduce gives the users who will hide a name, a friend and a score on boards.
func introduce(t *testing.T, root *client.Client, boards ...string) {
	t.Helper()
	for user := range hiddenUsers {
		for _, board := range boards {
			if _, err := root.Submit(t.Context(), client.Increment{User: user, Board: board, Delta: 50}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := root.PutProfile(t.Context(), user, client.Profile{DisplayName: "Secret " + user}); err != nil {
			t.Fatal(err)
		}
		pairs := []client.FriendPair{{UserID: user, FriendID: ally}}
		if _, err := root.ImportFriends(t.Context(), pairs); err != nil {
			t.Fatal(err)
		}
	}
}

// hideAll has each of them choose a visibility.
func hideAll(t *testing.T, n *node) {
	t.Helper()
	for user, to := range hiddenUsers {
		if _, err := n.client(user, "").SetPrivacy(t.Context(), user, to); err != nil {
			t.Fatal(err)
		}
	}
}

// until reads frames up to the first one with a text, and returns all.
func until(t *testing.T, ws *websocket.Conn, text string) (frames []string) {
	t.Helper()
	for {
		_, message, err := ws.ReadMessage()
		if err != nil {
			t.Fatalf("read a frame with %s after %v: %v", text, frames, err)
		}
		if frames = append(frames, string(message)); strings.Contains(string(message), text) {
			return frames
		}
	}
}

// The frames of the dialects show hidden users under pseudonyms, and private ones not at all, to
// strangers, to friends and to themselves.
func TestFramesOfDialectsHideUsers(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	introduce(t, root, "delta", "highscore")
	score := func(user string, delta int64) {
		t.Helper()
		for board, delta := range map[string]int64{"delta": delta, "highscore": 100 + delta} {
			in := client.Increment{User: user, Board: board, Delta: delta}
			if _, err := root.Submit(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := root.Submit(t.Context(), client.Increment{User: open, Board: "delta", Delta: 100}); err != nil {
		t.Fatal(err)
	}
	streams := make(map[string]*websocket.Conn)
	for _, user := range []string{"stranger", ally, veiled, absent} {
		token := h.token(user, "", time.Hour)
		status, _, answer := request(t, http.MethodPost, n.URL+"/delta/v1/leaderboard/ws-token", "", bearer(token))
		var ticket struct{ Token string }
		if err := json.Unmarshal([]byte(answer), &ticket); err != nil || status != http.StatusOK {
			t.Fatal(status, answer, err)
		}
		streams["B for "+user], _ = dial(t, n.URL+"/v1/ws/leaderboard?token="+token, nil)
		streams["C for "+user], _ = dial(t, n.URL+"/delta/v1/leaderboard/ws?token="+ticket.Token, nil)
	}
	score(open, 1) // 101 on both boards
	for what, ws := range streams {
		frames := until(t, ws, `"score":101`)
		if last := frames[len(frames)-1]; len(namedIn(last)) != 3 { // or the test proves nothing
			t.Errorf("%s, before anybody hides: got %s, want all three users", what, last)
		}
	}
	hideAll(t, n)
	score(open, 30) // 131 and 130: frames from before the responses are read up to here
	for _, ws := range streams {
		until(t, ws, `"score":13`)
	}
	for user := range hiddenUsers {
		score(user, 7)
	}
	score(open, 200) // 331 and 300
	for what, ws := range streams {
		frames := until(t, ws, `"score":3`)
		for _, f := range frames {
			ownRank := strings.Contains(f, "SCORE_UPDATE") && strings.HasSuffix(what, veiled)
			if found := namedIn(f); len(found) > 0 && !ownRank {
				t.Errorf("%s: a frame names %v: %s", what, found, f)
			}
		}
		last := frames[len(frames)-1]
		if ids := regexp.MustCompile(`"(player_id|userId)":"~`).FindAllString(last, -1); len(ids) != 2 ||
			strings.Count(last, `"rank":`) != 3 {
			t.Errorf("%s: got %s, want one user by id and two by pseudonyms", what, last)
		}
	}
}

// Webhooks tell other systems of hidden users under pseudonyms, and of private ones nothing.
func TestWebhooksHideUsers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, append(slices.Clone(loopback), "boards-close-grace", "1s")...)
	db := backends.Connect(t, h.postgres)
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	end := time.Now().Add(time.Hour).UTC()
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: &end,
	}); err != nil {
		t.Fatal(err)
	}
	introduce(t, root, "cup")
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Board: "cup", Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		submit(fmt.Sprint("early", i), 90)
	}
	h.await("the ranking", func() bool {
		top, err := root.Top(t.Context(), client.TopQuery{Board: "cup"})
		return err == nil && len(top.Entries) == 6 && !top.Degraded
	})
	r := newReceiver(t)
	if _, err := root.CreateWebhook(t.Context(), client.WebhookRequest{
		URL: r.URL, Types: []string{"season.closed", "rank.reached"}, Boards: []string{"cup"}, Top: 3,
	}); err != nil {
		t.Fatal(err)
	}
	h.await("the first comparison", func() bool { return db.Count(t, `select count(*) from webhook_tops`) == 1 })
	hideAll(t, n)
	submit(absent, 900)
	submit(veiled, 800)
	submit(guarded, 700)
	submit(open, 750)
	h.await("the messages", func() bool { return len(r.all("rank.reached")) >= 3 })
	if _, err := root.RollBoards(t.Context(), "cup", client.RollRequest{
		Season: "two", EndsAt: new(end.Add(time.Hour)),
	}); err != nil {
		t.Fatal(err)
	}
	h.await("the end of the season", func() bool { return len(r.all("season.closed")) > 0 })
	reached := r.all("rank.reached")
	pseudonyms, public := 0, 0
	for _, m := range append(reached, r.all("season.closed")...) {
		if found := namedIn(m.body); len(found) > 0 {
			t.Errorf("a message names %v: %s", found, m.body)
		}
		pseudonyms += strings.Count(m.body, `"user_id":"~`)
		public += strings.Count(m.body, `"user_id":"`+open)
	}
	if len(reached) != 3 || pseudonyms != 4 || public != 2 {
		t.Errorf("%d ranks reached, %d rows with a pseudonym, %d of the public user, want 3, 4 and 2: %v", len(reached),
			pseudonyms, public, reached)
	}
	if m := r.all("season.closed")[0]; m.message.Data.Users != 6 {
		t.Errorf("the season ended with %d users, want the 6 on the board: %s", m.message.Data.Users, m.body)
	}
}

// Topics and feeds to an operator's own systems carry the ids of hidden users. A private user
// leaves them as a banned one does: with the score 0 where consumers know scores only, as hidden
// in CloudEvents, and absent from the rows that are announced.
func TestFeedsOfHiddenUsers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	brokers, prefix := h.useKafka()
	h.settings["mirror-plain-topic"], h.settings["mirror-cloudevents-topic"] = prefix+"scores", prefix+"ce"
	h.settings["mirror-group"], h.settings["mirror-partitions"] = prefix+"mirror", "2"
	h.settings["dialect-delta-board"] = "global"
	rdb := backends.RedisClient(t, h.redis.URL)
	broker := kafka.New(kafka.Options{Brokers: brokers, Timeout: 5 * time.Second})
	t.Cleanup(broker.Close)
	n := h.start(allRoles + ",mirror")
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "plain", Mode: "best"}); err != nil {
		t.Fatal(err)
	}
	introduce(t, root, "plain", "global")
	hideAll(t, n)
	for _, user := range []string{veiled, guarded, absent, open} {
		for board, delta := range map[string]int64{"global": 9, "plain": 59} {
			in := client.Increment{User: user, Board: board, Delta: delta}
			if _, err := root.Submit(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
	with := func(texts []string, parts ...string) (found []string) {
		for _, text := range texts {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) }) {
				found = append(found, text)
			}
		}
		return found
	}
	read := func(topic string) []string { return recordsOf(t, broker, prefix+topic) }
	// The last change of everyone is in each feed.
	for _, user := range []string{veiled, guarded, open} {
		inGlobal := "59"
		if user == open { // this user had no score before
			inGlobal = "9"
		}
		h.await("the changes of "+user, func() bool {
			return len(with(read("scores"), user, `"score":59`)) > 0 &&
				len(with(entriesOf(t, rdb), "userId "+user+" newScore "+inGlobal+" ")) > 0 &&
				len(with(read("ce"), `"subject":"`+user+`"`, `"board":"global"`, `"hidden":false`,
					`"score":`+inGlobal)) > 0
		})
	}
	h.await("the changes of the private user", func() bool {
		return len(with(read("ce"), `"subject":"`+absent+`"`, `"score":59`, `"hidden":true`)) > 1 &&
			len(with(entriesOf(t, rdb), "userId "+absent+" newScore 0 ")) > 1 &&
			len(with(read("scores"), absent, `"score":0`)) > 1
	})
	if found := with(read("scores"), absent, `"score":59`); len(found) > 0 {
		t.Errorf("the feed plain has a score of the private user: %v", found)
	}
	if found := with(entriesOf(t, rdb), "userId "+absent+" newScore 59 "); len(found) > 0 {
		t.Errorf("the feed delta has a score of the private user: %v", found)
	}
	if found := with(read("ce"), `"subject":"`+absent+`"`, `"score":59`, `"hidden":false`); len(found) > 0 {
		t.Errorf("a CloudEvent shows the private user: %v", found)
	}
	var notices []string
	h.await("the notice of the last change", func() bool {
		notices = with(read("notices"), `"board":"global"`, open, `"score":59`)
		return len(with(notices, veiled, guarded)) > 0
	})
	for _, text := range notices {
		_, value, _ := strings.Cut(text, " ")
		var notice struct {
			Top []struct {
				UserID string `json:"user_id"`
			}
		}
		if err := json.Unmarshal([]byte(value), &notice); err != nil {
			t.Fatal(err)
		}
		for _, e := range notice.Top {
			if e.UserID == absent || strings.HasPrefix(e.UserID, "~") {
				t.Errorf("a notice has the row of %s: %s", e.UserID, value)
			}
		}
	}
}
