package mirror_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/mirror"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// rig is two transports and two feeds, all real.
type rig struct {
	t                      *testing.T
	kafka                  *kafka.Client
	rdb                    *redis.Client
	streams                *streams.Transport
	prefix                 string
	away                   atomic.Bool // the topic of scores
	overKafka, overStreams *transport.Events
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		t: t, prefix: backends.Prefix(t), rdb: backends.RedisClient(t, backends.Redis(t)),
		kafka: kafka.New(kafka.Options{
			Brokers: backends.Kafka(t), Timeout: 3 * time.Second, Acks: "all",
		}),
	}
	t.Cleanup(r.kafka.Close)
	if _, err := r.kafka.Ensure(t.Context(),
		kafka.Topic{Name: r.prefix + "events", Partitions: 4, Retention: time.Hour, Replicas: 1},
		kafka.Topic{Name: r.prefix + "score-events", Partitions: 3, Retention: time.Hour, Replicas: 1},
	); err != nil {
		t.Fatal(err)
	}
	r.streams = streams.New(streams.Options{Name: "sb:stream", Group: "projection", Shards: 2, Length: 10_000}, r.rdb)
	r.overKafka, r.overStreams = transport.NewEvents(r.producer("events")), transport.NewEvents(r.streams)
	return r
}

func (r *rig) producer(topic string) *kafka.Producer {
	p := r.kafka.Producer(r.prefix + topic)
	r.t.Cleanup(func() { _ = p.Close() })
	return p
}

// gate is a sink whose backend is away at times.
type gate struct {
	mirror.Sink
	away *atomic.Bool
}

func (g gate) Write(ctx context.Context, changes []scoreboard.Change) (int, error) {
	if g.away.Load() {
		return 0, errAway
	}
	return g.Sink.Write(ctx, changes)
}

// start runs a mirror of both feeds over both transports, as one node does.
func (r *rig) start() (stop func()) {
	sources := func(group string) []mirror.Source {
		s := streams.New(
			streams.Options{Name: "sb:stream", Group: r.prefix + group, Shards: 2, Length: 10_000, Batch: 7}, r.rdb,
		)
		return []mirror.Source{
			s.Consumer(quiet), r.kafka.Consumer(r.prefix+"events", r.prefix+group, 7, quiet),
		}
	}
	m := mirror.New([]mirror.Feed{
		{
			Name: "plain", Board: "plain", Sources: sources("plain"),
			Sink: gate{transport.NewScoreFeed(r.producer("score-events")), &r.away},
		},
		{Name: "delta", Board: "plain", Sources: sources("delta"), Sink: newStream(r.rdb, 100_000)},
	}, quiet)
	return backends.Run(r.t, m.Run)
}

// publish publishes the changes from one revision to another of ten users.
func (r *rig) publish(over *transport.Events, from, to int64) {
	r.t.Helper()
	var changes []scoreboard.Change
	for n := from; n <= to; n++ {
		for user := range 10 {
			changes = append(changes, change("plain", fmt.Sprint(user), n))
		}
	}
	if n, err := over.Publish(r.t.Context(), changes); err != nil || n != len(changes) {
		r.t.Fatalf("published %d of %d: %v", n, len(changes), err)
	}
}

// consume reads the topic of scores from its beginning, as a consumer of specification E
// does: it keeps the last version of each user and counts what it applied.
func (r *rig) consume() (scores map[string]int64, applied int) {
	r.t.Helper()
	log := r.kafka.Log(r.prefix + "score-events")
	spans, err := log.Ranges(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	scores, versions := make(map[string]int64), make(map[string]int64)
	for _, span := range spans {
		if err := log.Read(r.t.Context(), span, func(records []scoreboard.Record) error {
			for _, record := range records {
				var m struct{ UserID, Score, Version int64 }
				if err := json.Unmarshal(record.Value, &m); err != nil {
					return err
				}
				if key := string(record.Key); key != fmt.Sprint(m.UserID) {
					r.t.Errorf("key %s of %s", key, record.Value)
				} else if m.Version > versions[key] {
					versions[key], scores[key] = m.Version, m.Score
					applied++
				}
			}
			return nil
		}); err != nil {
			r.t.Fatal(err)
		}
	}
	return scores, applied
}

// Mirrors are added and stopped, a backend is away, the transport is switched, and
// everything is published again: a consumer ends with every user's last score, and
// counts nothing twice.
func TestMirrorsAddNothingTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stopFirst := r.start()
	r.publish(r.overKafka, 1, 20)
	await(t, "the first changes", func() bool { _, applied := r.consume(); return applied >= 100 })
	stopSecond := r.start() // a rebalance
	r.publish(r.overKafka, 21, 40)
	r.away.Store(true)
	r.publish(r.overStreams, 41, 60) // the transport is switched
	stopFirst()                      // while it holds records that it cannot write
	r.publish(r.overKafka, 15, 30)   // again, after newer ones
	r.away.Store(false)
	stopSecond()
	r.publish(r.overStreams, 61, 70) // while none runs
	r.publish(r.overKafka, 55, 80)   // and back again
	r.start()
	want := make(map[string]int64)
	for user := range 10 {
		want[fmt.Sprint(user)] = 80
	}
	await(t, "every last score", func() bool { scores, _ := r.consume(); return maps.Equal(scores, want) })
	await(t, "every group to be done", func() bool {
		for _, group := range []string{"plain", "delta"} {
			n, err := r.kafka.Consumer(r.prefix+"events", r.prefix+group, 1, quiet).MeasureLag(t.Context())
			if err != nil || n > 0 {
				return false
			}
			s := streams.New(streams.Options{Name: "sb:stream", Group: r.prefix + group, Shards: 2}, r.rdb)
			if n, err = s.Consumer(quiet).MeasureLag(t.Context()); err != nil || n > 0 {
				return false
			}
		}
		return true
	})
	if scores, applied := r.consume(); applied > 800 || !maps.Equal(scores, want) {
		t.Errorf("applied %d changes and got %v, want at most 800 and %v", applied, scores, want)
	}
	last := make(map[any]int64)
	entries := r.rdb.XRange(t.Context(), streamKey, "-", "+").Val()
	for _, e := range entries {
		var n int64
		if _, err := fmt.Sscan(e.Values["newScore"].(string), &n); err != nil || n <= last[e.Values["userId"]] {
			t.Fatalf("%v follows the score %d (%v)", e.Values, last[e.Values["userId"]], err)
		}
		last[e.Values["userId"]] = n
	}
	if len(last) != 10 || last["0"] != 80 || len(entries) > 800 {
		t.Errorf("%d entries for %d users, the last for user 0 is %d, want 800 at most, 10 and 80", len(entries),
			len(last), last["0"])
	}
}
