package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func TestAcceptedDuringPostgresOutage(t *testing.T) {
	t.Parallel()
	t.Run("Kafka", func(t *testing.T) {
		t.Parallel()
		testAcceptedDuringPostgresOutage(t, newHarness(t))
	})
	t.Run("Redis Streams", func(t *testing.T) {
		t.Parallel()
		testAcceptedDuringPostgresOutage(t, newHarness(t).withoutKafka("streams"))
	})
}

func testAcceptedDuringPostgresOutage(t *testing.T, h *harness) {
	t.Helper()
	pg := backends.OwnPostgres(t, migrations.Up)
	for i, v := range h.env {
		if strings.HasPrefix(v, "SCOREBOARD_POSTGRES_URL=") {
			h.env[i] = "SCOREBOARD_POSTGRES_URL=" + pg.URL
		}
	}
	h.postgres = pg.URL
	d := h.start()
	a := h.async(d, "alice", "")
	if status, what, _ := a.post("alice", 1, "before"); status != 202 {
		t.Fatalf("got %d %s", status, what)
	}
	eventually(t, "the first to be done", func() error {
		if _, what, _ := a.event("/v1/events/before"); what != "done" {
			return fmt.Errorf("it is %s", what)
		}
		return nil
	})
	pg.Stop()
	if status, what, _ := a.post("alice", 2, "during"); status != 202 || what != "pending" {
		t.Errorf("while PostgreSQL is down: got %d %s, want a 202", status, what)
	}
	if status, what, _ := a.event("/v1/events/during"); status != 200 || what != "pending" {
		t.Errorf("status while PostgreSQL is down: got %d %s, want pending", status, what)
	}
	sync, err := client.New(d.url, client.Options{
		Token: h.token("alice", ""), KeyID: a.signer.KeyID,
		KeySecret: a.signer.Secret, Attempts: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sync.Close()
	_, err = sync.Submit(t.Context(), client.Increment{User: "alice", Delta: 4})
	if e := new(client.Error); !errors.As(err, &e) || e.Status != 503 || e.RetryAfter < time.Second {
		t.Errorf("a synchronous write: got %v, want a 503 with Retry-After", err)
	}
	pg.Start()
	eventually(t, "the second to be done", func() error {
		if _, what, _ := a.event("/v1/events/during"); what != "done" {
			return fmt.Errorf("it is %s", what)
		}
		return nil
	})
	eventually(t, "the top to show both", topIs(sync, shows("1 alice 3")))
}

func TestPoisonRecordsGoToDeadLetters(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	a := h.async(d, "alice", "")
	topic := ""
	brokers := ""
	for _, v := range h.env {
		if rest, ok := strings.CutPrefix(v, "SCOREBOARD_KAFKA_INCREMENTS_TOPIC="); ok {
			topic = rest
		}
		if rest, ok := strings.CutPrefix(v, "SCOREBOARD_KAFKA_BROKERS="); ok {
			brokers = rest
		}
	}
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	w := &kafka.Writer{
		Addr: kafka.TCP(brokers), Topic: topic, Balancer: &kafka.Hash{}, Transport: transport,
		BatchTimeout: time.Millisecond, RequiredAcks: kafka.RequireAll,
	}
	defer func() { _ = w.Close() }()
	old, err := json.Marshal(map[string]any{
		"schema": 1, "user_id": "alice", "delta": 1, "event_id": "ancient", "boards": []string{"global"},
		"timestamp": time.Now(), "accepted_at": time.Now().Add(-40 * 24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMessages(t.Context(), kafka.Message{Key: []byte("alice"), Value: []byte("no JSON")},
		kafka.Message{Key: []byte("alice"), Value: old}); err != nil {
		t.Fatal(err)
	}
	if status, what, _ := a.post("alice", 5, "good"); status != 202 {
		t.Fatalf("got %d %s", status, what)
	}
	eventually(t, "the valid one to be done", func() error {
		if _, what, _ := a.event("/v1/events/good"); what != "done" {
			return fmt.Errorf("it is %s", what)
		}
		return nil
	})
	if n := h.sql(`select count(*) from user_score_histories`); n != 1 {
		t.Errorf("ledger rows: got %d, want the valid one", n)
	}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{brokers}, Topic: strings.Replace(topic, "increments",
		"increments-dead", 1), MaxWait: 100 * time.Millisecond})
	defer func() { _ = r.Close() }()
	ctx, cancel := contextFor(20 * time.Second)
	defer cancel()
	for _, want := range []string{"no JSON", string(old)} {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		reason := ""
		for _, header := range m.Headers {
			if header.Key == "reason" {
				reason = string(header.Value)
			}
		}
		if string(m.Value) != want || reason == "" {
			t.Errorf("dead letter: got %q with reason %q, want %q with a reason", m.Value, reason, want)
		}
	}
	// Operators see the same letters. One that can be recorded counts, and is deleted.
	root := h.client(d, "root", auth.ScopeAdmin)
	page, err := root.DeadLetters(ctx, 0)
	if err != nil || len(page.Letters) != 2 || page.Letters[0].Topic != topic || page.Letters[1].Reason == "" {
		t.Fatalf("letters: %+v, %v", page.Letters, err)
	}
	for i, want := range []wire.Code{wire.CodeConflict, wire.CodeGone} {
		if _, err := root.RequeueLetter(ctx, page.Letters[i].ID); wire.CodeOf(err) != want {
			t.Errorf("requeue of letter %d: got %v, want %s", i, err, want)
		}
	}
	h.exec(`update dead_letters set value = convert_to(jsonb_set(convert_from(value, 'UTF8')::jsonb, '{accepted_at}',
    to_jsonb(now()))::text, 'UTF8') where id = ` + fmt.Sprint(page.Letters[1].ID))
	if _, err := root.RequeueLetter(ctx, page.Letters[1].ID); err != nil {
		t.Error(err)
	}
	if _, what, _ := a.event("/v1/events/ancient"); what != "done" {
		t.Errorf("the requeued increment is %s, want done", what)
	}
	if page, err = root.DeadLetters(ctx, 0); err != nil || len(page.Letters) != 1 {
		t.Errorf("letters left: %+v, %v; want the malformed one", page.Letters, err)
	}
}

// Increments accepted before ingest.async is disabled stay pending until they are
// recorded.
func TestDisablingAsyncLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start("--roles", "api,relay,projector,maintenance") // no intake
	a := h.async(d, "game", auth.ScopeUpdate)
	root := h.client(d, "root", auth.ScopeAdmin)
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	setAsync := func(value string) {
		t.Helper()
		if _, err := root.ChangeSetting(ctx, "ingest.async",
			client.SettingRequest{Value: &value, Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	}
	posted := 0
	post := func(want string) {
		t.Helper()
		posted++
		user, event := fmt.Sprint("user-", posted%5), fmt.Sprint("event-", posted)
		if status, what, _ := a.post(user, 1, event); fmt.Sprint(status, " ", what) != want {
			t.Fatalf("event %d: got %d %s, want %s", posted, status, what, want)
		}
	}
	for range 20 {
		post("202 pending")
	}
	setAsync("false")
	for range 20 {
		post("200 done") // although the client prefers 202
	}
	// A repeat of a pending event must not count twice.
	if status, what, _ := a.post("user-1", 1, "event-1"); status != 202 && status != 200 {
		t.Errorf("a repeat of a pending event: got %d %s", status, what)
	}
	setAsync("true")
	for range 20 {
		post("202 pending")
	}
	h.start("--roles", "intake")
	for n := 1; n <= posted; n++ {
		eventually(t, fmt.Sprintf("event %d to be done", n), func() error {
			status, what, _ := a.event(fmt.Sprintf("/v1/events/event-%d?user_id=user-%d", n, n%5))
			if status != 200 || what != "done" {
				return fmt.Errorf("got %d %s", status, what)
			}
			return nil
		})
	}
	if rows, sum := h.sql(`select count(*) from user_score_histories`),
		h.sql(`select sum(score)::bigint from scores`); rows != 60 || sum != 60 {
		t.Errorf("%d rows of the ledger and %d points, want 60 of each", rows, sum)
	}
}
