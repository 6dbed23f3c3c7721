package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// withoutKafka has a harness's daemons use PostgreSQL and Redis alone.
func (h *harness) withoutKafka(transport string) *harness {
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "SCOREBOARD_KAFKA_") })
	h.env = append(h.env, "SCOREBOARD_TRANSPORT="+transport)
	return h
}

// accept posts an increment until it is answered with 202.
func (a *asyncCaller) accept(user string, delta int64, event string) {
	a.h.t.Helper()
	eventually(a.h.t, "event "+event+" to be accepted", func() error {
		if status, what, _ := a.post(user, delta, event); status != 202 {
			return fmt.Errorf("got %d %s", status, what)
		}
		return nil
	})
}

// await waits until an event has a status.
func (a *asyncCaller) await(event, user, want string) {
	a.h.t.Helper()
	eventually(a.h.t, event+" to be "+want, func() error {
		if _, what, _ := a.event("/v1/events/" + event + "?user_id=" + user); what != want {
			return fmt.Errorf("it is %s", what)
		}
		return nil
	})
}

// queueLength counts the entries of all streams of accepted increments.
func queueLength(t testing.TB, rdb redis.UniversalClient) (total int64) {
	t.Helper()
	for shard := range 8 {
		total += rdb.XLen(t.Context(), fmt.Sprintf("{score:increments}:%d", shard)).Val()
	}
	return total
}

// Every role starts and is ready with PostgreSQL and Redis alone, and nothing speaks of
// Kafka.
func TestEveryRoleStartsWithoutKafka(t *testing.T) {
	t.Parallel()
	for transport, processes := range map[string][]string{
		"streams": {"", "api", "read", "intake", "relay", "projector", "gateway", "maintenance"},
		"direct":  {"", "api", "read", "intake", "relay,projector", "gateway", "maintenance"},
	} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t).withoutKafka(transport)
			for _, roles := range processes {
				args := []string{}
				if roles != "" {
					args = append(args, "--roles", roles)
				}
				d := h.start(args...)
				if body, err := d.readyz(); err != nil || strings.Contains(body, "kafka") {
					t.Errorf("roles %q: /readyz says %s (%v)", roles, body, err)
				}
				if roles == "" {
					checks, err := h.client(d, "root", auth.ScopeAdmin).Checks(t.Context())
					if text, _ := json.Marshal(checks); err != nil || len(checks.Checks) < 10 ||
						strings.Contains(strings.ToLower(string(text)), "kafka") {
						t.Errorf("doctor: got %s (%v)", text, err)
					}
				}
				if err := d.stop(); err != nil {
					t.Errorf("roles %q: the stop: %v", roles, err)
				}
				if log := d.logs.String(); strings.Contains(strings.ToLower(log), "kafka") {
					t.Errorf("roles %q: the log speaks of Kafka: %s", roles, log)
				}
			}
		})
	}
}

// What TestAsyncIncrement requires over Kafka, over Redis Streams.
func TestAsyncOverStreams(t *testing.T) {
	t.Parallel()
	h := newHarness(t).withoutKafka("streams")
	d := h.start("--roles", "api,relay,projector,gateway,maintenance")
	a := h.async(d, "alice", "")
	// Nobody has ever read the queue: the increment is recorded at once.
	if status, what, _ := a.post("alice", 1, "alone"); status != 200 || what != "done" {
		t.Errorf("without an intake: got %d %s, want a receipt", status, what)
	}
	const errors = `scoreboard_broker_produce_errors_total{topic="score:increments"} 0`
	if metrics, err := d.metrics(); err != nil || !strings.Contains(metrics, errors) {
		t.Errorf("it counts as an error, which an alert is on (%v)", err)
	}
	intake := h.start("--roles", "intake")
	if status, what, location := a.post("alice", 2, "match-1"); status != 202 || what != "pending" ||
		location != "/v1/events/match-1?user_id=alice" {
		t.Errorf("with an intake: got %d %s %q", status, what, location)
	}
	a.await("match-1", "alice", "done")
	intake.kill()
	a.accept("alice", 5, "match-2")
	for name, want := range map[string]string{"again": "202 pending", "another payload": "409 event_conflict"} {
		delta := int64(5)
		if name == "another payload" {
			delta = 6
		}
		if status, what, _ := a.post("alice", delta, "match-2"); fmt.Sprint(status, " ", what) != want {
			t.Errorf("%s while pending: got %d %s, want %s", name, status, what, want)
		}
	}
	if status, what, _ := a.event("/v1/events/match-2"); status != 200 || what != "pending" {
		t.Errorf("status while pending: got %d %s", status, what)
	}
	// While something waits, an unknown event cannot be called unknown.
	if status, what, _ := a.event("/v1/events/match-3"); status != 503 {
		t.Errorf("an unknown event during a backlog: got %d %s, want 503", status, what)
	}
	h.start("--roles", "intake")
	a.await("match-2", "alice", "done")
	if status, what, _ := a.post("alice", 5, "match-2"); status != 200 || what != "done" {
		t.Errorf("repeated when done: got %d %s", status, what)
	}
	if status, what, _ := a.post("alice", 6, "match-2"); status != 409 || what != "event_conflict" {
		t.Errorf("another payload when done: got %d %s", status, what)
	}
	if status, what, _ := a.event("/v1/events/match-3"); status != 404 || what != "not_found" {
		t.Errorf("unknown event: got %d %s", status, what)
	}
	if n := h.sql(`select count(*) from user_score_histories`); n != 3 {
		t.Errorf("ledger rows: got %d, want 3", n)
	}
	eventually(t, "the top to show all", topIs(h.client(d, "game", auth.ScopeUpdate), shows("1 alice 8")))
}

// The guarantee of a 202 over Redis Streams: it lasts as long as Redis keeps its data. An
// increment that Redis has lost is unknown afterwards, and its repeat counts.
func TestFlushLosesWhatOnlyRedisHad(t *testing.T) {
	t.Parallel()
	h := newHarness(t).withoutKafka("direct")
	api := h.start("--roles", "api,relay,projector,maintenance")
	intake := h.start("--roles", "intake")
	a := h.async(api, "alice", "")
	a.accept("alice", 1, "kept")
	a.await("kept", "alice", "done")
	intake.kill()
	a.accept("alice", 2, "lost")
	flush(t, h)
	intake = h.start("--roles", "intake")
	if status, what, _ := a.event("/v1/events/lost"); status != 404 {
		t.Errorf("the lost event: got %d %s, want a 404", status, what)
	}
	a.accept("alice", 2, "lost")
	a.await("lost", "alice", "done")
	// A flush under a running intake: it creates its groups again and skips nothing.
	for round := range 3 {
		flush(t, h)
		event := fmt.Sprint("after-", round)
		eventually(t, event+" to be submitted", func() error { // 200 until the intake is back
			if status, what, _ := a.post("alice", 10, event); status != 202 && status != 200 {
				return fmt.Errorf("got %d %s", status, what)
			}
			return nil
		})
		a.await(event, "alice", "done")
	}
	probes := int64(0)
	eventually(t, "the intake to be back", func() error {
		probes++
		if status, what, _ := a.post("alice", 1, fmt.Sprint("probe-", probes)); status != 202 {
			return fmt.Errorf("got %d %s", status, what)
		}
		return nil
	})
	a.await(fmt.Sprint("probe-", probes), "alice", "done")
	if sum := h.sql(`select sum(score)::bigint from scores`); sum != 33+probes {
		t.Errorf("%d points, want %d", sum, 33+probes)
	}
	if err := intake.stop(); err != nil { // its log is complete
		t.Fatal(err)
	}
	if log := intake.logs.String(); strings.Count(log, "\n") > 5 {
		t.Errorf("the flushes filled the log:\n%s", log)
	}
}

// Two nodes read the queue. The one that holds the entries is killed, again and again:
// every accepted increment counts once, and each user's in their order.
func TestKilledIntakeLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t).withoutKafka("streams")
	api := h.start("--roles", "api,relay,projector,gateway,maintenance")
	intakes := []*daemon{h.start("--roles", "intake"), h.start("--roles", "intake")}
	a := h.async(api, "game", auth.ScopeUpdate)
	const users, rounds = 5, 60
	for i := range rounds {
		for u := range users {
			user := fmt.Sprint("user-", u)
			a.accept(user, 1, fmt.Sprintf("%s-%d", user, i))
		}
		if i%20 == 10 {
			victim := i / 20 % 2
			intakes[victim].kill()
			intakes[victim] = h.start("--roles", "intake")
		}
	}
	for u := range users {
		user := fmt.Sprint("user-", u)
		a.await(fmt.Sprintf("%s-%d", user, rounds-1), user, "done")
	}
	eventually(t, "all to be recorded", func() error {
		if n := h.sql(`select count(*) from user_score_histories where source = 'async'`); n != users*rounds {
			return fmt.Errorf("%d rows", n)
		}
		return nil
	})
	if sum := h.sql(`select sum(score)::bigint from scores`); sum != users*rounds {
		t.Errorf("%d points, want %d", sum, users*rounds)
	}
	if n := h.sql(`select count(*) from user_score_histories
where event_text is distinct from user_id || '-' || (new_score - 1)`); n != 0 {
		t.Errorf("%d increments are out of their user's order", n)
	}
	rdb := backends.RedisClient(t, h.redis.URL)
	eventually(t, "all to be acknowledged", func() error {
		for shard := range 8 {
			p, err := rdb.XPending(t.Context(), fmt.Sprintf("{score:increments}:%d", shard), "score-intake").Result()
			if err != nil || p.Count > 0 {
				return fmt.Errorf("shard %d: %+v, %w", shard, p, err)
			}
		}
		return nil
	})
}

// A stream that is full of increments which nobody records rejects more, and takes them
// again afterwards. Nothing that was accepted is trimmed.
func TestFullQueueRejectsAsync(t *testing.T) {
	t.Parallel()
	h := newHarness(t).withoutKafka("streams")
	h.env = append(h.env, "SCOREBOARD_STREAMS_LENGTH=20")
	api := h.start("--roles", "api,relay,projector,maintenance")
	h.start("--roles", "intake").kill()
	a := h.async(api, "alice", "")
	accepted := 0
	for ; accepted < 100; accepted++ {
		status, what, _ := a.post("alice", 1, fmt.Sprint("event-", accepted))
		if status == 202 {
			continue
		}
		if status != 503 || what != "overloaded" || a.retryAfter == "" {
			t.Errorf("a full queue: got %d %s, Retry-After %q", status, what, a.retryAfter)
		}
		break
	}
	if accepted != 20 {
		t.Errorf("accepted %d, want 20", accepted)
	}
	rdb := backends.RedisClient(t, h.redis.URL)
	if n := queueLength(t, rdb); n != 20 {
		t.Errorf("%d entries, want 20", n)
	}
	h.start("--roles", "intake")
	for i := accepted; i < 60; i++ { // more than fit, so acknowledged ones are trimmed
		a.accept("alice", 1, fmt.Sprint("event-", i))
	}
	a.await("event-59", "alice", "done")
	if n := queueLength(t, rdb); n > 20 {
		t.Errorf("%d entries after all are recorded, want at most 20", n)
	}
	if rows, sum := h.sql(`select count(*) from user_score_histories`),
		h.sql(`select sum(score)::bigint from scores`); rows != 60 || sum != 60 {
		t.Errorf("%d rows and %d points, want 60", rows, sum)
	}
}

// Malformed and too old entries go to the dead letters: the table, and the stream that
// stands for the topic. One that can be recorded counts once.
func TestPoisonEntriesOfStreams(t *testing.T) {
	t.Parallel()
	h := newHarness(t).withoutKafka("streams")
	d := h.start()
	a := h.async(d, "alice", "")
	rdb := backends.RedisClient(t, h.redis.URL)
	old, err := json.Marshal(map[string]any{
		"schema": 1, "user_id": "alice", "delta": 1, "event_id": "ancient", "boards": []string{"global"},
		"timestamp": time.Now(), "accepted_at": time.Now().Add(-40 * 24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	const stream = "{score:increments}:0"
	for _, values := range []map[string]any{{"k": "alice", "v": "no JSON"}, {"k": "alice", "v": old}, {"x": "y"}} {
		if err := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	a.accept("alice", 5, "good")
	a.await("good", "alice", "done")
	ctx, cancel := contextFor(30 * time.Second)
	defer cancel()
	root := h.client(d, "root", auth.ScopeAdmin)
	var letters []client.DeadLetter
	eventually(t, "three letters", func() error {
		page, err := root.DeadLetters(ctx, 0)
		if letters = page.Letters; err != nil || len(letters) != 3 {
			return fmt.Errorf("%d letters, %w", len(letters), err)
		}
		return nil
	})
	copies := rdb.XRange(ctx, "{score-increments.dlq}:0", "-", "+").Val()
	if len(copies) != 3 || copies[0].Values["v"] != "no JSON" || copies[1].Values["v"] != string(old) ||
		copies[1].Values["reason"] == "" {
		t.Errorf("copies of the letters: %v", copies)
	}
	for i, want := range []wire.Code{wire.CodeConflict, wire.CodeGone, wire.CodeConflict} {
		if letters[i].Topic != "score:increments" || letters[i].Reason == "" {
			t.Errorf("letter %d: %+v", i, letters[i])
		}
		if _, err := root.RequeueLetter(ctx, letters[i].ID); wire.CodeOf(err) != want {
			t.Errorf("requeue of letter %d: got %v, want %s", i, err, want)
		}
	}
	h.exec(`update dead_letters set value = convert_to(jsonb_set(convert_from(value, 'UTF8')::jsonb, '{accepted_at}',
    to_jsonb(now()))::text, 'UTF8') where id = ` + fmt.Sprint(letters[1].ID))
	if _, err := root.RequeueLetter(ctx, letters[1].ID); err != nil {
		t.Error(err)
	}
	if status, what, _ := a.post("alice", 1, "ancient"); status != 200 || what != "done" {
		t.Errorf("the requeued increment again: got %d %s, want its receipt", status, what)
	}
	if rows, sum := h.sql(`select count(*) from user_score_histories`),
		h.sql(`select sum(score)::bigint from scores`); rows != 2 || sum != 6 {
		t.Errorf("%d rows and %d points, want 2 and 6", rows, sum)
	}
	if page, err := root.DeadLetters(ctx, 0); err != nil || len(page.Letters) != 2 {
		t.Errorf("letters left: %+v, %v; want the malformed ones", page.Letters, err)
	}
	metrics, err := d.metrics()
	if err != nil || !strings.Contains(metrics, "scoreboard_intake_dead_letters_total 3\n") ||
		!strings.Contains(metrics, `scoreboard_broker_lag_records{group="score-intake",topic="score:increments"} 0`) {
		t.Errorf("the metrics lack 3 letters or a lag of 0")
	}
}

// The streams are spread over the servers of a cluster, one of which fails over.
func TestAsyncOverStreamsInCluster(t *testing.T) {
	t.Parallel()
	cluster := backends.OwnRedisCluster(t, 3, 3)
	h := newHarnessAt(t, cluster.URL).withoutKafka("streams")
	d := h.start()
	a := h.async(d, "game", auth.ScopeUpdate)
	const users = 20
	submit := func(round string) {
		t.Helper()
		for u := range users {
			user := fmt.Sprint("user-", u)
			eventually(t, user+" to be accepted", func() error {
				if status, what, _ := a.post(user, 1, round+user); status != 202 && status != 200 {
					return fmt.Errorf("got %d %s", status, what)
				}
				return nil
			})
		}
		for u := range users {
			user := fmt.Sprint("user-", u)
			a.await(round+user, user, "done")
		}
	}
	submit("first-")
	servers := map[int]bool{}
	for shard := range 8 {
		servers[cluster.Primary(fmt.Sprintf("{score:increments:%d}", shard))] = true
	}
	if len(servers) != 3 {
		t.Errorf("the streams are on %d servers, want all three", len(servers))
	}
	cluster.Servers[cluster.Primary("{score:increments:0}")].Kill()
	cluster.AwaitReady(t.Context())
	submit("second-")
	if rows, sum := h.sql(`select count(*) from user_score_histories`),
		h.sql(`select sum(score)::bigint from scores`); rows != 2*users || sum != 2*users {
		t.Errorf("%d rows and %d points, want %d", rows, sum, 2*users)
	}
}
