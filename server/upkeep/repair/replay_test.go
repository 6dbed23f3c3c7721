package repair_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

func TestReplayAppliesOnlyWhatTheRankingLost(t *testing.T) {
	withEachLog(t, func(t *testing.T, p *replayRig) {
		began := time.Now().Add(-time.Second)
		var changes []scoreboard.Change
		for n := range 2500 { // more than one batch
			changes = append(changes, change(n, 2, int64(n)))
		}
		p.publish(changes...)
		if _, err := p.producer.Produce(
			ctx,
			[]transport.Message{{Key: []byte("x"), Value: []byte("no JSON")}},
		); err != nil {
			t.Fatal(err)
		}
		if err := transport.NewEvents(p.producer).
			Heartbeat(ctx, scoreboard.Heartbeat{Shards: 1, AsOf: time.Now()}); err != nil {
			t.Fatal(err)
		}
		older := change(7, 1, 99_999)
		elsewhere := change(8, 1, 5)
		elsewhere.Board = "nowhere"
		p.publish(older, elsewhere)
		// The ranking has the first hundred changes, and a newer one of user 200.
		if _, err := p.ranking.Apply(ctx, changes[:100]); err != nil {
			t.Fatal(err)
		}
		if _, err := p.ranking.Apply(ctx, []scoreboard.Change{change(200, 3, 1)}); err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, true, false} {
			before := p.total()
			done, err := p.replay(repair.Replay{Time: &began, DryRun: dry})
			if err != nil {
				t.Fatal(err)
			}
			if done.Newer != 2399 || done.Same != 102 || done.Unreadable != 1 || done.NotLoaded != 1 ||
				done.Records < 2503 {
				t.Errorf("dry %t: %+v; want 2399 newer, 102 known, 1 unreadable, 1 of an unknown board", dry, *done)
			}
			if after := p.total(); dry && after != before {
				t.Errorf("a dry run changed the board: %d users, before %d", after, before)
			}
		}
		if n := p.total(); n != 2500 {
			t.Errorf("%d users are ranked, want 2500", n)
		}
		again, err := p.replay(repair.Replay{Time: &began})
		if err != nil || again.Newer != 0 || again.Same != 2501 {
			t.Errorf("a second replay: %+v, %v; want no change", again, err)
		}
		place, err := p.ranking.Place(ctx, &p.board, "user200", 0)
		if err != nil || place.Score != 1 {
			t.Errorf("user200 has %+v, %v: a newer state was overwritten", place, err)
		}
	})
}

func TestReplayRejectsARangeThatIsNotRetained(t *testing.T) {
	withEachLog(t, func(t *testing.T, p *replayRig) {
		began := time.Now()
		for n := range 30 {
			p.publish(change(n, 1, int64(n)))
		}
		spans, err := p.Ranges(ctx)
		if err != nil || len(spans) != 3 {
			t.Fatal(spans, err)
		}
		span := spans[1]
		later, beyond, outside, absent := time.Now().Add(time.Hour), span.End, span.First-1, 9
		one := 1
		cases := map[string]struct {
			replay repair.Replay
			want   string
			code   wire.Code
		}{
			"an offset after the last": {
				repair.Replay{Offset: &beyond, Partition: &one},
				"retains offsets",
				wire.CodeInvalidRequest,
			},
			"an offset before the first": {
				repair.Replay{Offset: &outside, Partition: &one},
				"retains offsets",
				wire.CodeInvalidRequest,
			},
			"an unknown partition": {
				repair.Replay{Time: &began, Partition: &absent},
				"has partitions 0 to 2",
				wire.CodeInvalidRequest,
			},
			"a time after the last record": {
				repair.Replay{Time: &later},
				"no records at or after",
				wire.CodeInvalidRequest,
			},
			"before the dedupe window": {
				repair.Replay{Time: &began, DedupeSince: later},
				"older records cannot be replayed",
				wire.CodeGone,
			},
		}
		for name, c := range cases {
			done, err := p.replay(c.replay)
			if wire.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %+v, %v; want %s with %q", name, done, err, c.code, c.want)
			}
		}
		if n := p.total(); n != 0 {
			t.Errorf("%d users are ranked after rejected replays", n)
		}
		// From an offset in the middle, only the rest of its partition is read.
		var offsets []int64
		if err := p.Read(ctx, span, func(records []scoreboard.Record) error {
			for _, r := range records {
				offsets = append(offsets, r.Offset)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		from := len(offsets) / 2
		done, err := p.replay(repair.Replay{Offset: &offsets[from], Partition: &one})
		if want := int64(len(offsets) - from); err != nil || done.Records != want || p.total() != want {
			t.Errorf("from the middle: %+v, %v, %d ranked; want %d", done, err, p.total(), want)
		}
	})
}

// TestReplayRejectsATimeNoLongerRetained has Kafka delete the first records of a
// partition.
func TestReplayRejectsATimeNoLongerRetained(t *testing.T) {
	t.Parallel()
	brokers, prefix := backends.Kafka(t), backends.Prefix(t)
	k := kafka.New(
		kafka.Options{
			Brokers:     brokers,
			Timeout:     5 * time.Second,
			Compression: "none",
			Acks:        "all",
		},
	)
	t.Cleanup(k.Close)
	topic := prefix + "events"
	if _, err := k.Ensure(ctx, kafka.Topic{Name: topic, Partitions: 1, Retention: time.Hour, Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	producer := k.Producer(topic)
	t.Cleanup(func() { _ = producer.Close() })
	p := newReplayRig(t, k.Log(topic), producer, backends.RedisClient(t, backends.Redis(t)))
	began := time.Now().Add(-10 * time.Millisecond) // the times of records are whole milliseconds
	for n := range 10 {
		p.publish(change(n, 1, int64(n)))
	}
	admin, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	request := kmsg.NewDeleteRecordsRequest()
	request.TimeoutMillis = 5000
	request.Topics = []kmsg.DeleteRecordsRequestTopic{
		{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 4}}},
	}
	if response, err := request.RequestWith(ctx, admin); err != nil || response.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatal(err, response)
	}
	if _, err := p.replay(
		repair.Replay{Time: &began},
	); wire.CodeOf(err) != wire.CodeInvalidRequest ||
		!strings.Contains(err.Error(), "is retained from") {
		t.Errorf("from a time no longer retained: %v", err)
	}
	first := int64(4)
	none := 0
	if done, err := p.replay(repair.Replay{Offset: &first, Partition: &none}); err != nil || done.Newer != 6 {
		t.Errorf("from the first retained offset: %+v, %v", done, err)
	}
}

// What cannot be stored as a dead letter would stop its partition for good.
func TestAnyRecordCanBeADeadLetter(t *testing.T) {
	t.Parallel()
	r := open(t)
	for i, l := range []scoreboard.DeadLetter{
		{Value: nil, Reason: "a tombstone"},
		{Value: []byte{}, Reason: "an empty value"},
		{Value: []byte{0, 0xff}, Reason: "NUL \x00, no UTF-8 \xff, " + strings.Repeat("long", 1<<18)},
	} {
		l.Topic, l.Offset, l.Attempts = "events", int64(i), 1
		if err := r.DeadLetters.Add(ctx, &l); err != nil {
			t.Fatalf("%.20q: %v", l.Reason, err)
		}
	}
	q := repair.Requeue{
		Letters: r.Store.DeadLetters, DedupeSince: time.Now().AddDate(0, -1, 0),
		Progress: func(*repair.ReplayResult) {},
	}
	if done, err := q.Run(ctx); err != nil || done.Unreadable != 3 {
		t.Errorf("requeue: %+v, %v; want three that cannot be decoded", done, err)
	}
	letters, err := r.DeadLetters.DeadLetters(ctx, 0, 10)
	if err != nil || len(letters) != 3 || len(letters[2].Reason) > 2000 {
		t.Fatalf("got %+.100v, %v; want all three", letters, err)
	}
	for i := range letters {
		if err := r.DeadLetters.DropLetter(ctx, letters[i].ID, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestRequeueKeepsLettersItCannotDecode(t *testing.T) {
	t.Parallel()
	r := open(t)
	addLetter := func(topic string, offset int64, value []byte) {
		t.Helper()
		if err := r.DeadLetters.Add(
			ctx,
			&scoreboard.DeadLetter{Topic: topic, Offset: offset, Value: value, Reason: "why", Attempts: 1},
		); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 120 { // more than a page
		c := change(n, 1, int64(n))
		addLetter("events", int64(n), protocol.AppendEvent(nil, &c))
	}
	old := change(1, 1, 1)
	old.RecordedAt = time.Now().AddDate(0, -3, 0)
	addLetter("events", 500, protocol.AppendEvent(nil, &old))
	addLetter("events", 501, []byte("no JSON"))
	other := change(999, 1, 1)
	addLetter("elsewhere", 1, protocol.AppendEvent(nil, &other))
	since := time.Now().AddDate(0, -1, 0)
	requeue := func(dry bool) *repair.ReplayResult {
		t.Helper()
		q := repair.Requeue{
			Letters:     r.Store.DeadLetters,
			DedupeSince: since,
			Topic:       "events",
			DryRun:      dry,
			Progress:    func(*repair.ReplayResult) {},
		}
		done, err := q.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	waiting := func() int64 {
		t.Helper()
		return r.conn.Count(t, `select count(*) from outbox_score_updates`)
	}
	if done := requeue(true); done.Newer != 120 || done.TooOld != 1 || done.Unreadable != 1 || waiting() != 0 {
		t.Errorf("a dry run: %+v, %d rows in the outbox", *done, waiting())
	}
	if done := requeue(false); done.Newer != 120 || waiting() != 120 {
		t.Errorf("requeued %+v, %d rows in the outbox", *done, waiting())
	}
	if done := requeue(false); done.Newer != 0 || done.Records != 2 || waiting() != 120 {
		t.Errorf("a second time: %+v, %d rows in the outbox; want the two others to stay", *done, waiting())
	}
}
