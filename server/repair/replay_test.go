package repair_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestAReplayBringsBackWhatTheRankingLostAndNothingElse(t *testing.T) {
	onEachLog(t, func(t *testing.T, p *past) {
		began := time.Now().Add(-time.Second)
		var changes []scoreboard.Change
		for n := range 2500 { // more than one piece
			changes = append(changes, change(n, 2, int64(n)))
		}
		p.publish(changes...)
		if _, err := p.way.Produce(ctx, []broker.Message{{Key: []byte("x"), Value: []byte("no JSON")}}); err != nil {
			t.Fatal(err)
		}
		if err := broker.NewEvents(p.way).Heartbeat(ctx, scoreboard.Heartbeat{Shards: 1, AsOf: time.Now()}); err != nil {
			t.Fatal(err)
		}
		older := change(7, 1, 99_999)
		elsewhere := change(8, 1, 5)
		elsewhere.Board = "nowhere"
		p.publish(older, elsewhere)
		// The ranking has the first hundred, and something newer of one of the others.
		if _, err := p.ranking.Apply(ctx, changes[:100]); err != nil {
			t.Fatal(err)
		}
		if _, err := p.ranking.Apply(ctx, []scoreboard.Change{change(200, 3, 1)}); err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, true, false} {
			before := p.total()
			done, err := p.replay(repair.Replay{Time: &began, Dry: dry})
			if err != nil {
				t.Fatal(err)
			}
			if done.Newer != 2399 || done.Same != 102 || done.Unreadable != 1 || done.NotLoaded != 1 || done.Records < 2503 {
				t.Errorf("dry %t: %+v; want 2399 new, 102 known, 1 unreadable, 1 of no board", dry, *done)
			}
			if after := p.total(); dry && after != before {
				t.Errorf("a dry run has changed the board: %d users after %d", after, before)
			}
		}
		if n := p.total(); n != 2500 {
			t.Errorf("%d users are ranked, want 2500", n)
		}
		again, err := p.replay(repair.Replay{Time: &began})
		if err != nil || again.Newer != 0 || again.Same != 2501 {
			t.Errorf("a second replay: %+v, %v; want it to change nothing", again, err)
		}
		place, err := p.ranking.Place(ctx, p.board.ID, "user200", 0)
		if err != nil || place.Score != 1 {
			t.Errorf("user200 has %+v, %v: a newer state was overwritten", place, err)
		}
	})
}

func TestAReplayOfWhatIsNotThereIsRefusedAndChangesNothing(t *testing.T) {
	onEachLog(t, func(t *testing.T, p *past) {
		began := time.Now()
		for n := range 30 {
			p.publish(change(n, 1, int64(n)))
		}
		spans, err := p.Spans(ctx)
		if err != nil || len(spans) != 3 {
			t.Fatal(spans, err)
		}
		span := spans[1]
		later, beyond, outside, absent := time.Now().Add(time.Hour), span.End, span.First-1, 9
		one := 1
		cases := map[string]struct {
			replay repair.Replay
			want   string
			code   scoreboard.Code
		}{
			"an offset that is not written yet": {repair.Replay{Offset: &beyond, Partition: &one}, "it holds", scoreboard.CodeInvalidRequest},
			"an offset before the first":        {repair.Replay{Offset: &outside, Partition: &one}, "it holds", scoreboard.CodeInvalidRequest},
			"a partition that is not there":     {repair.Replay{Time: &began, Partition: &absent}, "there are 0 to 2", scoreboard.CodeInvalidRequest},
			"a time after the last":             {repair.Replay{Time: &later}, "nothing was produced", scoreboard.CodeInvalidRequest},
			"past the window of repeats":        {repair.Replay{Time: &began, Known: later}, "nothing older is replayed", scoreboard.CodeGone},
		}
		for name, c := range cases {
			done, err := p.replay(c.replay)
			if scoreboard.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %+v, %v; want %s that says %q", name, done, err, c.code, c.want)
			}
		}
		if n := p.total(); n != 0 {
			t.Errorf("%d users are ranked after replays that were refused", n)
		}
		// From an offset in the middle only what follows in its partition.
		var offsets []int64
		if err := p.Read(ctx, span, func(records []repair.Record) error {
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

// TestATimeThatIsForgottenIsNotReplayedFromWhatIsLeft has Kafka delete the
// first records of a partition.
func TestATimeThatIsForgottenIsNotReplayedFromWhatIsLeft(t *testing.T) {
	t.Parallel()
	brokers, prefix := backendtest.Kafka(t), backendtest.Prefix(t)
	k := broker.NewKafka(broker.KafkaOptions{Brokers: brokers, Linger: time.Millisecond, Timeout: 5 * time.Second, Compression: "none", Acks: "all"})
	t.Cleanup(k.Close)
	topic := prefix + "events"
	if _, err := k.Ensure(ctx, broker.Topic{Name: topic, Partitions: 1, Retention: time.Hour, Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	producer := k.Producer(topic)
	t.Cleanup(func() { _ = producer.Close() })
	p := newPast(t, k.Log(topic), producer, backendtest.RedisClient(t, backendtest.Redis(t)))
	began := time.Now()
	for n := range 10 {
		p.publish(change(n, 1, int64(n)))
	}
	admin, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	forget := kmsg.NewDeleteRecordsRequest()
	forget.TimeoutMillis = 5000
	forget.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 4}}}}
	if answer, err := forget.RequestWith(ctx, admin); err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatal(err, answer)
	}
	if _, err := p.replay(repair.Replay{Time: &began}); scoreboard.CodeOf(err) != scoreboard.CodeInvalidRequest || !strings.Contains(err.Error(), "is forgotten") {
		t.Errorf("from a time that is forgotten: %v", err)
	}
	first := int64(4)
	none := 0
	if done, err := p.replay(repair.Replay{Offset: &first, Partition: &none}); err != nil || done.Newer != 6 {
		t.Errorf("from the first that is left: %+v, %v", done, err)
	}
}

func TestDeadLettersAreRequeuedOnceAndThoseThatCannotBeStay(t *testing.T) {
	t.Parallel()
	r := open(t)
	bury := func(topic string, offset int64, value []byte) {
		t.Helper()
		if err := r.Bury(ctx, &scoreboard.DeadLetter{Topic: topic, Offset: offset, Value: value, Reason: "why", Attempts: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 120 { // more than a page
		c := change(n, 1, int64(n))
		bury("events", int64(n), protocol.AppendEvent(nil, &c))
	}
	old := change(1, 1, 1)
	old.RecordedAt = time.Now().AddDate(0, -3, 0)
	bury("events", 500, protocol.AppendEvent(nil, &old))
	bury("events", 501, []byte("no JSON"))
	other := change(999, 1, 1)
	bury("elsewhere", 1, protocol.AppendEvent(nil, &other))
	known := time.Now().AddDate(0, -1, 0)
	requeue := func(dry bool) *repair.Replayed {
		t.Helper()
		q := repair.Requeue{Letters: r.Store, Known: known, Topic: "events", Dry: dry, Progress: func(*repair.Replayed) {}}
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
		t.Errorf("a second time: %+v, %d rows in the outbox; want what cannot be requeued to stay", *done, waiting())
	}
}
