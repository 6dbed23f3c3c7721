package realtime_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// protocolPage is docs/protocol.md.
type protocolPage struct {
	text   string
	frames []string // the examples of messages, in their order
	sse    string   // the example of an event stream
}

func readProtocolPage(t *testing.T) *protocolPage {
	t.Helper()
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	p := &protocolPage{text: string(text)}
	for _, block := range regexp.MustCompile("(?ms)^```(json|text)\n(.*?)^```$").FindAllStringSubmatch(p.text, -1) {
		if block[1] == "text" {
			p.sse += block[2]
			continue
		}
		example := strings.TrimSuffix(block[2], "\n")
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(example), &head); err != nil {
			t.Fatalf("%s: %v", example, err)
		}
		var to any = &wire.Message{}
		switch head.Type {
		case "":
			to = &wire.JoinTicket{}
		case "subscribe", "unsubscribe":
			to = &wire.Command{}
		default:
			p.frames = append(p.frames, example)
		}
		d := json.NewDecoder(strings.NewReader(example))
		d.DisallowUnknownFields()
		if err := d.Decode(to); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
	return p
}

// varying are the values of a message that differ between runs.
var varying = regexp.MustCompile(`"(ts)":"[^"]+"|"(reconnect_after_ms)":\d+|(?m:^(retry): \d+$)`)

func fixed(message string) string { return varying.ReplaceAllString(message, "$1$2$3") }

// The messages that the page shows are those of one session, as the server sends them.
// The AsyncAPI document describes all of them.
func TestPageShowsRealMessages(t *testing.T) {
	t.Parallel()
	page := readProtocolPage(t)
	document, err := os.ReadFile("../http/api/asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	boards := newRanking("global")
	boards.edit(func() {
		b := boards.boards["global"]
		b.epoch, b.version, b.moves["alice"] = 1795262400123456, 40, 6
	})
	boards.set("global", of{"bob": 40, "alice": 37, "carol": 12})
	r := start(t, realtime.Options{CheckEvery: 100 * time.Millisecond, Ping: 50 * time.Millisecond}, boards)
	friendsOf := &circles{ranking: boards}
	friendsOf.befriend("alice", "bob")
	r.hub.ShowFriends(friendsOf)
	r.hub.Cohorts = &league{circles: friendsOf, cohort: 4711}
	r.hub.Tiers = func(scoreboard.BoardID) (scoreboard.Tiers, scoreboard.Order) {
		return scoreboard.Tiers{{Name: "gold", Rank: 1}, {Name: "silver", Rank: 10}}, scoreboard.OrderHighest
	}
	var sent []string
	got := func(w *watcher) {
		t.Helper()
		data, err := w.read()
		if err != nil {
			t.Fatalf("after %q: %v", sent, err)
		}
		openapi.CheckMessage(t, document, data)
		sent = append(sent, fixed(string(data)))
	}
	stream := r.stream("expires=300")

	w := r.dial("user=alice&delta=1")
	got(w)
	boards.edit(func() { delete(boards.boards["global"].of, "carol") })
	r.hub.Notify(boards.set("global", of{"alice": 42}))
	got(w) // the delta
	got(w) // alice's rank
	got(w) // and tier
	friends := r.dial("user=alice&friends=1")
	friends.expect(wire.MessageUpdated)
	got(friends)
	cohort := r.dial("user=alice&cohort=1")
	cohort.expect(wire.MessageUpdated)
	got(cohort)
	w.send(`{"type":"follow","board":"daily"}`)
	got(w)
	boards.edit(func() { boards.reason = "ranking_unavailable" })
	got(w)
	short := r.dial("expires=100")
	short.frame()
	got(short)

	for _, example := range page.frames {
		if i := slices.Index(sent, fixed(example)); i >= 0 {
			sent = slices.Delete(sent, i, i+1)
			continue
		}
		t.Errorf("the server did not send\n%s", example)
	}
	if len(sent) > 0 {
		t.Errorf("the page does not show\n%s", strings.Join(sent, "\n"))
	}
	const ping = ": ping\n\n"
	if !strings.Contains(stream, ping) || !strings.Contains(page.sse, ping) {
		t.Errorf("no keepalive on the page or in\n%s", stream)
	}
	whole := func(s string) string { return fixed(strings.ReplaceAll(s, ping, "")) }
	if whole(stream) != whole(page.sse) {
		t.Errorf("got the stream\n%s\nwant\n%s", stream, page.sse)
	}
}

// stream is a whole event stream.
func (r *rig) stream(query string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.http.URL+"/?"+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := r.http.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var all bytes.Buffer
	if _, err := io.Copy(&all, res.Body); err != nil {
		r.t.Fatal(err)
	}
	return all.String()
}

// The page has every type of message and every close code.
func TestPageIsComplete(t *testing.T) {
	t.Parallel()
	page := readProtocolPage(t)
	for _, kind := range []string{
		wire.MessageUpdated, wire.MessageDelta, wire.MessageRank, wire.MessageTier, wire.MessageBye, wire.MessageError,
	} {
		if !strings.Contains(page.text, "\n### "+kind+"\n") {
			t.Errorf("no heading %s", kind)
		}
	}
	table := page.text[strings.Index(page.text, "| close code |"):]
	for _, code := range []int{
		wire.CloseToken, wire.CloseForbidden, wire.CloseSlowConsumer, wire.CloseLimit,
		wire.CloseRestart,
		websocket.CloseProtocolError, websocket.CloseUnsupportedData, websocket.CloseInvalidFramePayloadData,
		websocket.CloseMessageTooBig,
	} {
		if !regexp.MustCompile(`(?m)^\|[ \d,]*\b` + strconv.Itoa(code) + `\b`).MatchString(table) {
			t.Errorf("no close code %d", code)
		}
	}
}
