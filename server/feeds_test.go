package server_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Patterns of what differs between two runs.
const (
	timePattern = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z`
	uuidPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
)

// entriesOf returns the entries of specification C's stream, each as its names and values.
func entriesOf(t *testing.T, rdb *redis.Client) (entries []string) {
	t.Helper()
	found, err := rdb.Do(t.Context(), "XRANGE", "leaderboard:stream", "-", "+").Slice()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		entries = append(entries, strings.Trim(fmt.Sprint(e.([]any)[1]), "[]"))
	}
	return entries
}

// recordsOf returns the records of a topic, each as its key and value, sorted.
func recordsOf(t *testing.T, c *kafka.Client, topic string) (records []string) {
	t.Helper()
	log := c.Log(topic)
	spans, err := log.Ranges(t.Context())
	for _, span := range spans {
		if err == nil {
			err = log.Read(t.Context(), span, func(read []scoreboard.Record) error {
				for _, r := range read {
					records = append(records, string(r.Key)+" "+string(r.Value))
				}
				return nil
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(records)
	return records
}

// matchAll reports whether texts match patterns, one by one.
func matchAll(texts, patterns []string) bool {
	return slices.EqualFunc(texts, patterns, func(text, pattern string) bool {
		return regexp.MustCompile("^" + pattern + "$").MatchString(text)
	})
}

// The role mirror writes the feeds of specifications C and E and CloudEvents, with names
// and types byte for byte, over a switch of the transport, a ban and a restart.
func TestMirrorWritesFeeds(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	brokers, prefix := h.useKafka()
	h.settings["mirror-plain-topic"], h.settings["mirror-cloudevents-topic"] = prefix+"score-events", prefix+"ce"
	h.settings["mirror-group"], h.settings["mirror-partitions"] = prefix+"mirror", "2"
	h.settings["dialect-delta-board"] = "global"
	rdb := backends.RedisClient(t, h.redis.URL)
	broker := kafka.New(kafka.Options{Brokers: brokers, Timeout: 5 * time.Second})
	t.Cleanup(broker.Close)
	n := h.start("api,relay,projector,maintenance,mirror")
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	zero, maxDelta := int64(0), int64(1)<<53-1
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "plain", Mode: "best", MinDelta: &zero, MaxDelta: &maxDelta,
	}); err != nil {
		t.Fatal(err)
	}
	submit := func(board, user, event string, delta int64) {
		t.Helper()
		if _, err := root.Submit(t.Context(), client.Increment{
			Board: board, User: user, EventID: event, Delta: delta,
		}); err != nil {
			t.Fatal(err)
		}
	}
	change := func(to string) error {
		_, err := root.ChangeSetting(t.Context(), "transport", client.SettingRequest{Value: &to, Reason: "a test"})
		return err
	}
	entry := func(user, score, action string) string {
		return "userId " + user + " newScore " + score + " actionId " + action + " timestamp " + timePattern
	}
	awaitEntries := func(what string, want ...string) {
		t.Helper()
		h.await(what, func() bool { return len(entriesOf(t, rdb)) >= len(want) })
		if got := entriesOf(t, rdb); !matchAll(got, want) {
			t.Fatalf("%s: got the entries\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	submit("plain", "123", "5b0c3a52-9f0e-4c1b-8f57-0a1b2c3d4e5f", 4500)
	submit("plain", "ada", "match-1", 7)
	submit("global", "alice", "match:1", 5)
	want := []string{entry("alice", "5", "match:1")}
	awaitEntries("the first entry", want...)
	if err := change("direct"); err == nil || !strings.Contains(err.Error(), "no role mirror") {
		t.Errorf("a switch to a transport without records: got %v, want a rejection", err)
	}
	if err := change("streams"); err != nil {
		t.Fatal(err)
	}
	submit("global", "alice", "3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b", 2)
	want = append(want, entry("alice", "7", "3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b"))
	awaitEntries("an entry over the other transport", want...)
	if _, err := root.Ban(t.Context(), "alice", "a test"); err != nil {
		t.Fatal(err)
	}
	want = append(want, entry("alice", "0", uuidPattern))
	awaitEntries("the ban", want...)
	if _, err := root.Erase(t.Context(), "123", "a test"); err != nil {
		t.Fatal(err)
	}
	plain := []string{
		`123 \{"userId":123,"score":0,"version":[23],"updatedAt":"` + timePattern + `"\}`,
		`123 \{"userId":123,"score":4500,"version":1,"updatedAt":"` + timePattern + `"\}`,
		`ada \{"userId":"ada","score":7,"version":1,"updatedAt":"` + timePattern + `"\}`,
	}
	h.await("the records of E", func() bool { return len(recordsOf(t, broker, prefix+"score-events")) >= len(plain) })
	if found, err := root.Checks(t.Context()); err != nil {
		t.Error(err)
	} else if i := slices.IndexFunc(found.Checks, func(c wire.Check) bool { return c.Name == "mirror" }); i < 0 ||
		found.Checks[i].Status != wire.CheckOK {
		t.Errorf("the doctor's checks: %+v, want one of the mirror that is ok", found.Checks)
	}
	n.stop()
	n = h.start("api,relay,projector,maintenance")
	root = n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	submit("global", "bob", "match:2", 3) // while no mirror runs
	h.start("mirror")
	h.start("mirror")
	want = append(want, entry("bob", "3", "match:2"))
	awaitEntries("what was recorded meanwhile, and nothing again", want...)
	// An erasure hides the user first and moves the rows afterwards, which is one change more.
	got := slices.CompactFunc(recordsOf(t, broker, prefix+"score-events"), func(a, b string) bool {
		const erased = `123 {"userId":123,"score":0,`
		return a == b || strings.HasPrefix(a, erased) && strings.HasPrefix(b, erased)
	})
	if !matchAll(got, plain) {
		t.Errorf("got the records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(plain, "\n"))
	}
	// Another topic begins with the scores from before, of which the group has nothing left.
	h.start("mirror", "mirror-plain-topic", prefix+"second")
	h.await("a snapshot", func() bool { return len(recordsOf(t, broker, prefix+"second")) > 0 })
	if got := recordsOf(t, broker, prefix+"second"); !matchAll(got, plain[2:]) {
		t.Errorf("got the snapshot\n%s\nwant\n%s", strings.Join(got, "\n"), plain[2])
	}
	first := regexp.MustCompile(`^global/alice \{"specversion":"1\.0",` +
		`"type":"com\.github\.scoreboard\.score\.changed","source":"/v1/boards/global",` +
		`"id":"alice/1/` + uuidPattern + `","subject":"alice","time":"` + timePattern + `",` +
		`"partitionkey":"global/alice","datacontenttype":"application/json","data":\{"schema":1,` +
		`"type":"score\.changed",[^{}]*"hidden":false\}\}$`)
	h.await("bob's CloudEvent", func() bool {
		return slices.ContainsFunc(recordsOf(t, broker, prefix+"ce"), func(r string) bool {
			return strings.HasPrefix(r, `global/bob `)
		})
	})
	if got := recordsOf(t, broker, prefix+"ce"); !slices.ContainsFunc(got, first.MatchString) {
		t.Errorf("got the CloudEvents\n%s\nwant one that matches\n%s", strings.Join(got, "\n"), first)
	}
}

// The feed of specification B has its records byte for byte, keyed by player: of a month, of a
// score that is beaten, and of a ban; and none of a score that is not higher.
func TestMirrorWritesFeedOfB(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	brokers, prefix := h.useKafka()
	for name, value := range map[string]string{
		"dialects": "highscore", "dialect-highscore-action-min": "0s",
		"mirror-highscore-topic": prefix + "score_updates",
		"mirror-plain-topic":     "", "mirror-delta-stream": "", "mirror-cloudevents-topic": "",
		"mirror-group": prefix + "mirror", "mirror-partitions": "2",
	} {
		h.settings[name] = value
	}
	broker := kafka.New(kafka.Options{Brokers: brokers, Timeout: 5 * time.Second})
	t.Cleanup(broker.Close)
	n := h.start("api,relay,projector,maintenance,mirror")
	for _, s := range []struct {
		user, action string
		score        int
	}{{"user_123", "m1", 12345}, {"user_123", "m2", 100}, {"7", "m3", 50}, {"user_123", "m4", 12346}} {
		token := n.startAction(t, s.user, `{"action_id":"`+s.action+`"}`)
		body := fmt.Sprintf(`{"action_id":%q,"action_token":%q,"new_score":%d,"timestamp":"2026-02-02T10:30:00Z"}`,
			s.action, token, s.score)
		status, _, answer := request(t, "POST", n.URL+"/v1/scores/update", body,
			bearer(h.token(s.user, "", time.Hour)))
		if status != 200 {
			t.Fatalf("%s: got %d %s", s.action, status, answer)
		}
	}
	if _, err := n.client("root", auth.ScopeAdmin).Ban(t.Context(), "7", "a test"); err != nil {
		t.Fatal(err)
	}
	record := func(user, score string) string {
		return user + ` \{"player_id":"` + user + `","score":` + score + `,"ts":"` + timePattern + `"\}`
	}
	want := []string{record("7", "0"), record("7", "50"), record("user_123", "12345"), record("user_123", "12346")}
	h.await("the records of B", func() bool { return len(recordsOf(t, broker, prefix+"score_updates")) >= len(want) })
	if got := recordsOf(t, broker, prefix+"score_updates"); !matchAll(got, want) {
		t.Errorf("got the records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
