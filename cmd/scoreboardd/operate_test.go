package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func (h *harness) setting(name string) string {
	for _, v := range h.env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			return rest
		}
	}
	h.t.Fatalf("setting %s is missing", name)
	return ""
}

func TestDeadLettersListRequeueDelete(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	root := h.client(d, "root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	w := &kafka.Writer{
		Addr: kafka.TCP(h.setting("SCOREBOARD_KAFKA_BROKERS")), Topic: h.setting("SCOREBOARD_KAFKA_TOPIC"),
		Balancer: &kafka.Hash{}, Transport: transport, BatchTimeout: time.Millisecond, RequiredAcks: kafka.RequireAll,
	}
	defer func() { _ = w.Close() }()
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	early := `{"schema":1,"type":"score.changed","event_id":"3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b",` +
		`"board":"later","user_id":"alice","score":5,` +
		`"previous_score":null,"delta":5,"version":1,"revision":1,"order_key":-5,"reached_at":"` + now +
		`","recorded_at":"` + now + `","hidden":false}`
	if err := w.WriteMessages(ctx, kafka.Message{Key: []byte("a"), Value: []byte("no JSON")},
		kafka.Message{Key: []byte("a"), Value: []byte(early)}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Submit(ctx, client.Increment{User: "bob", Delta: 7}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the valid record to be applied", topIs(root, shows("1 bob 7")))
	var page client.DeadLetters
	eventually(t, "two dead letters", func() (err error) {
		if page, err = root.DeadLetters(ctx, 0); err == nil && len(page.Letters) != 2 {
			err = fmt.Errorf("got %d dead letters", len(page.Letters))
		}
		return err
	})
	broken, board := page.Letters[0], page.Letters[1]
	full, err := root.DeadLetter(ctx, broken.ID)
	if err != nil || string(full.Value) != "no JSON" || full.Reason == "" ||
		full.Topic != h.setting("SCOREBOARD_KAFKA_TOPIC") {
		t.Errorf("the first letter: %+v, %v", full, err)
	}
	if _, err := root.RequeueLetter(ctx, broken.ID); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("requeue of an unreadable letter: %v, want a conflict", err)
	}
	if _, err := root.DropLetter(ctx, broken.ID); err != nil {
		t.Error(err)
	}
	h.exec(`insert into boards (board_id, family_id, mode) values ('later', 'later', 'increment')`)
	eventually(t, "the board to be built", func() error {
		k, err := root.RankingStatus(ctx, "later")
		if err == nil && k.Epoch == 0 {
			err = errors.New(k.State)
		}
		return err
	})
	if _, err := root.RequeueLetter(ctx, board.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the letter to be applied", func() error {
		top, err := root.Top(ctx, client.TopQuery{Board: "later"})
		if err == nil && (len(top.Entries) != 1 || top.Entries[0].UserID != "alice") {
			err = fmt.Errorf("the board is %+v", top.Entries)
		}
		return err
	})
	if page, err = root.DeadLetters(ctx, 0); err != nil || len(page.Letters) > 0 {
		t.Errorf("letters left: %+v, %v", page.Letters, err)
	}
	mallory := h.client(d, "mallory", "")
	if _, err := mallory.DeadLetters(ctx, 0); wire.CodeOf(err) != wire.CodeForbidden {
		t.Errorf("without the scope: %v, want forbidden", err)
	}
}

func TestVerifyAndRepairRanking(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.env = append(h.env, "SCOREBOARD_RECONCILE_REPAIR=false") // the sampler only counts
	d := h.start()
	root := h.client(d, "root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	for i, user := range []string{"alice", "bob", "carol"} {
		if _, err := root.Submit(ctx, client.Increment{User: user, Delta: int64(10 - i)}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all to be ranked", topIs(root, shows("1 alice 10", "2 bob 9", "3 carol 8")))
	quiet := func(client.JobLine) {}
	all := client.JobRequest{All: true}
	if done, err := root.Verify(ctx, all, quiet); err != nil || done.Verified.Wrong != 0 || done.Verified.Users != 3 ||
		done.Verified.Rows != 3 {
		t.Fatalf("without drift: %+v, %v", done.Verified, err)
	}
	rdb := backends.RedisClient(t, h.redis.URL)
	// Without these numbers, nothing shows that users are missing.
	if err := rdb.HDel(ctx, "sb:{global}:meta", "members", "states").Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.ZRemRangeByRank(ctx, "sb:{global}:rank", 0, 0).Err(); err != nil {
		t.Fatal(err)
	}
	h.exec(`update scores set version = version + 1 where user_id = 'carol'`)
	done, err := root.Verify(ctx, all, quiet)
	if err != nil || done.Verified.Wrong != 2 || len(done.Verified.Differences) != 2 {
		t.Fatalf("verify found %+v, %v; want alice and carol", done.Verified, err)
	}
	global := client.JobRequest{Board: "global"}
	if done, err = root.Reconcile(ctx, global, quiet); err != nil || done.Verified.Wrong != 1 ||
		done.Verified.Repaired != 0 {
		t.Errorf("reconcile without repair: %+v, %v", done.Verified, err)
	}
	global.Repair = true
	if done, err = root.Reconcile(ctx, global, quiet); err != nil || done.Verified.Wrong != 1 ||
		done.Verified.Repaired != 1 {
		t.Errorf("reconcile with repair: %+v, %v", done.Verified, err)
	}
	eventually(t, "alice to be back", topIs(root, shows("1 alice 10", "2 bob 9", "3 carol 8")))

	before, err := root.RankingStatus(ctx, "global")
	if err != nil {
		t.Fatal(err)
	}
	done, err = root.Rebuild(ctx, all, quiet)
	if err != nil || len(done.Rebuilt) != 1 || done.Rebuilt[0].Epoch <= before.Epoch || done.Rebuilt[0].Users != 3 {
		t.Errorf("rebuild: %+v, %v; the epoch was %d", done.Rebuilt, err, before.Epoch)
	}
	eventually(t, "the board to be healthy", func() error {
		k, err := root.RankingStatus(ctx, "global")
		if err == nil && k.State != "HEALTHY" {
			err = errors.New(k.State)
		}
		return err
	})
	if _, err := root.Rebuild(ctx, client.JobRequest{Board: "nowhere"},
		quiet); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("rebuild of an unknown board: %v", err)
	}
	if _, err := root.Verify(ctx, client.JobRequest{}, quiet); wire.CodeOf(err) != wire.CodeInvalidRequest {
		t.Errorf("a job without boards: %v", err)
	}
	// Creating partitions waits for the locks of writers, and is retried.
	eventually(t, "the outbox to be drained and to have its partitions", func() error {
		status, err := root.Outbox(ctx)
		if err == nil && (len(status.Shards) != 1 || status.Shards[0].Depth != 0 || status.Shards[0].Owner == "" ||
			len(status.Partitions) < 3) {
			err = fmt.Errorf("got %+v", status)
		}
		return err
	})
}
