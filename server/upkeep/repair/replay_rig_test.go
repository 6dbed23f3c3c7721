package repair_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// replayRig is a transport log and an empty ranking.
type replayRig struct {
	repair.Log
	t        *testing.T
	producer transport.Producer
	rdb      *redis.Client
	ranking  *ranking.Ranking
	board    scoreboard.Board
}

func newReplayRig(t *testing.T, log repair.Log, producer transport.Producer, rdb *redis.Client) *replayRig {
	t.Helper()
	p := &replayRig{
		log,
		t,
		producer,
		rdb,
		ranking.New(rdb),
		scoreboard.Board{ID: "global", Order: scoreboard.OrderHighest, Created: time.UnixMicro(1)},
	}
	if _, err := p.ranking.Claim(ctx, &p.board, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ranking.Swap(ctx, &p.board, "t", &scoreboard.Snapshot{Epoch: 1, AsOf: p.board.Created}); err != nil {
		t.Fatal(err)
	}
	return p
}

// withEachLog runs a test with every transport that retains records.
func withEachLog(t *testing.T, do func(t *testing.T, p *replayRig)) {
	t.Parallel()
	backends.EachKafka(t, func(t *testing.T, brokers []string, prefix string) {
		k := kafka.New(
			kafka.Options{
				Brokers:     brokers,
				Timeout:     5 * time.Second,
				Compression: "lz4",
				Acks:        "all",
			},
		)
		t.Cleanup(k.Close)
		topic := prefix + "events"
		if _, err := k.Ensure(
			ctx,
			kafka.Topic{Name: topic, Partitions: 3, Retention: 24 * time.Hour, Replicas: 1},
		); err != nil {
			t.Fatal(err)
		}
		producer := k.Producer(topic)
		t.Cleanup(func() { _ = producer.Close() })
		do(t, newReplayRig(t, k.Log(topic), producer, backends.RedisClient(t, backends.Redis(t))))
	})
	t.Run("streams", func(t *testing.T) {
		t.Parallel()
		rdb := backends.RedisClient(t, backends.Redis(t))
		s := streams.New(streams.Options{Name: "sb:stream", Group: "group", Shards: 3, Length: 100_000, Batch: 50}, rdb)
		do(t, newReplayRig(t, s.Log(), s, rdb))
	})
}

// change returns a change of the n-th user.
func change(n int, revision, score int64) scoreboard.Change {
	at := time.Now().UTC().Truncate(time.Microsecond)
	return scoreboard.Change{
		Type:  scoreboard.ChangeScore,
		Event: [16]byte{byte(n)},
		Board: "global",
		User:  scoreboard.UserID("user" + strconv.Itoa(n)),
		Score: scoreboard.Score(
			score,
		),
		Key:        -score,
		Version:    revision,
		Revision:   revision,
		ReachedAt:  at,
		RecordedAt: at,
	}
}

func (p *replayRig) publish(values ...scoreboard.Change) {
	p.t.Helper()
	if n, err := transport.NewEvents(p.producer).Publish(ctx, values); err != nil || n != len(values) {
		p.t.Fatal(n, err)
	}
}

func (p *replayRig) replay(r repair.Replay) (*repair.ReplayResult, error) {
	r.Log, r.Ranking, r.Progress = p, p.ranking, func(*repair.ReplayResult) {}
	if r.DedupeSince.IsZero() {
		r.DedupeSince = time.Now().Add(-24 * time.Hour)
	}
	return r.Run(ctx)
}

func (p *replayRig) total() int64 {
	p.t.Helper()
	top, err := p.ranking.Top(ctx, &p.board)
	if err != nil {
		p.t.Fatal(err)
	}
	return top.Total
}
