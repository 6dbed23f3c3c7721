package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
)

// fault is one way to fail. begin returns what ends it.
type fault struct {
	name  string // its first word is what it acts on: pairs never share that
	begin func(r *run, rng *rand.Rand) (end func())
	needs cluster.Ability // without it, the installation cannot have this fault
	loses bool            // Redis may lose what it had shown
	// promotes: likewise if Redis has replicas, one of which may take over.
	promotes bool
}

// acts says whether a fault acts on a backend, or on nodes.
func (f *fault) acts(target string) bool { return strings.HasPrefix(f.name, target+" ") }

// faults are all that a schedule draws from.
var faults = []fault{
	{name: "node killed", begin: func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		n.Kill()
		return func() { r.must(n.Start()) }
	}},
	{name: "node killed at commit", begin: func(r *run, rng *rand.Rand) func() {
		return r.killAt(rng, cluster.Fault{CutAtCommit: true})
	}},
	{name: "node killed at a message", begin: func(r *run, rng *rand.Rand) func() {
		return r.killAt(rng, cluster.Fault{CutAfter: 20 + rng.IntN(200)})
	}},
	{name: "node paused", begin: func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		n.Pause()
		return n.Resume
	}},
	{name: "node restarted", begin: func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		n.Stop()
		r.must(n.Start())
		return func() {}
	}},
	{name: "node started without kafka", needs: cluster.OneBroker, begin: func(r *run, rng *rand.Rand) func() {
		return r.startWithout(rng, cluster.Kafka)
	}},
	{
		name: "node started without redis", loses: true, needs: cluster.OneRedis,
		begin: func(r *run, rng *rand.Rand) func() { return r.startWithout(rng, cluster.Redis) },
	},
	{name: "clock of a node stepped", needs: cluster.Clocks, begin: func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		r.must(n.SetClock(wrong(rng)))
		return func() { r.must(n.SetClock(0)) }
	}},
	{name: "clock of a node slewed", needs: cluster.Clocks, begin: slewed},
	{name: "postgres killed", begin: killed(cluster.Postgres)},
	{name: "redis killed", loses: true, begin: func(r *run, rng *rand.Rand) func() {
		return killed(r.cluster.AnyRedis(rng))(r, rng)
	}},
	{name: "kafka killed", begin: func(r *run, rng *rand.Rand) func() {
		return killed(r.cluster.AnyBroker(rng))(r, rng)
	}},
	{name: "postgres paused", begin: paused(cluster.Postgres)},
	{name: "redis paused", promotes: true, begin: func(r *run, rng *rand.Rand) func() {
		return paused(r.cluster.AnyRedis(rng))(r, rng)
	}},
	{name: "kafka paused", begin: func(r *run, rng *rand.Rand) func() {
		return paused(r.cluster.AnyBroker(rng))(r, rng)
	}},
	{name: "postgres connections reset", begin: func(r *run, rng *rand.Rand) func() {
		r.anyNode(rng).PostgresNet().Reset()
		return func() {}
	}},
	{name: "postgres cut at commit", begin: func(r *run, rng *rand.Rand) func() {
		return netFault(r.anyNode(rng).PostgresNet(), cluster.Fault{CutAtCommit: true})
	}},
	{name: "postgres cut at a message", begin: func(r *run, rng *rand.Rand) func() {
		return netFault(r.anyNode(rng).PostgresNet(), cluster.Fault{CutAfter: 20 + rng.IntN(60)})
	}},
	{name: "postgres stalled", begin: func(r *run, rng *rand.Rand) func() {
		return netFault(r.anyNode(rng).PostgresNet(), cluster.Fault{Stall: true})
	}},
	{name: "postgres delayed", begin: func(r *run, rng *rand.Rand) func() {
		return netFault(
			r.anyNode(rng).PostgresNet(),
			cluster.Fault{Delay: time.Duration(5+rng.IntN(60)) * time.Millisecond},
		)
	}},
	{name: "postgres failed over", needs: cluster.Standby, begin: func(r *run, _ *rand.Rand) func() {
		ctx := context.Background()
		r.must(r.cluster.FailOver(ctx))
		return func() { r.must(r.cluster.StartStandby(ctx)) }
	}},
	{name: "postgres disk full", needs: cluster.Disks, begin: diskFull(cluster.Postgres)},
	{name: "clock of postgres stepped", needs: cluster.Clocks, begin: stepped},
	{name: "redis delayed", begin: func(r *run, rng *rand.Rand) func() {
		delay := cluster.Fault{Delay: time.Duration(1+rng.IntN(30)) * time.Millisecond}
		return netFault(r.anyNode(rng).RedisNet(), delay)
	}},
	{name: "redis stalled", begin: func(r *run, rng *rand.Rand) func() {
		return netFault(r.anyNode(rng).RedisNet(), cluster.Fault{Stall: true})
	}},
	{name: "redis unreachable", begin: func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		end := netFault(n.RedisNet(), cluster.Fault{Refuse: true})
		n.RedisNet().Reset()
		return end
	}},
	{name: "redis flushed", loses: true, begin: func(r *run, _ *rand.Rand) func() {
		_ = r.cluster.OnRedis(func(ctx context.Context, rdb *redis.Client) error { return rdb.FlushAll(ctx).Err() })
		return func() {}
	}},
	{name: "redis full", begin: func(r *run, _ *rand.Rand) func() {
		return r.limitRedis()
	}},
	{
		name: "redis restored from an old copy", loses: true, needs: cluster.OneRedis,
		begin: func(r *run, rng *rand.Rand) func() { return r.restoreRedis(rng) },
	},
	{name: "redis failed over", loses: true, begin: func(r *run, rng *rand.Rand) func() {
		lost := time.Duration(rng.IntN(1000)) * time.Millisecond
		r.must(r.cluster.FailOverRedis(context.Background(), rng, lost))
		return func() {}
	}},
	{
		name: "redis left for a replica for a while", loses: true, needs: cluster.OneRedis,
		begin: func(r *run, rng *rand.Rand) func() {
			back, err := r.cluster.LeaveRedis(context.Background(), time.Duration(rng.IntN(1000))*time.Millisecond)
			r.must(err)
			if err != nil {
				return func() {}
			}
			return func() { r.must(back()) }
		},
	},
	{name: "redis zone separated", loses: true, needs: cluster.Zones, begin: func(r *run, rng *rand.Rand) func() {
		heal, err := r.cluster.PartitionZone(r.anyNode(rng))
		r.must(err)
		if heal == nil {
			return func() {}
		}
		return heal
	}},
	{name: "redis slots moved", needs: cluster.Slots, begin: func(r *run, rng *rand.Rand) func() {
		r.must(r.cluster.MoveSlots(context.Background(), rng, 300+rng.IntN(1500)))
		return func() {}
	}},
	{name: "postgres answers swallowed", begin: func(r *run, rng *rand.Rand) func() {
		return swallowed(r.anyNode(rng).PostgresNet())
	}},
	{name: "redis answers swallowed", begin: func(r *run, rng *rand.Rand) func() {
		return swallowed(r.anyNode(rng).RedisNet())
	}},
	{name: "kafka answers swallowed", begin: func(r *run, rng *rand.Rand) func() {
		return swallowed(r.cluster.KafkaNet(r.cluster.AnyBroker(rng)))
	}},
	{name: "kafka log cut", needs: cluster.OneBroker, begin: func(r *run, rng *rand.Rand) func() {
		return cutLog(r, rng)
	}},
	{name: "kafka stalled", begin: func(r *run, rng *rand.Rand) func() {
		return netFault(r.cluster.KafkaNet(r.cluster.AnyBroker(rng)), cluster.Fault{Stall: true})
	}},
	{name: "kafka unreachable", begin: func(r *run, rng *rand.Rand) func() {
		net := r.cluster.KafkaNet(r.cluster.AnyBroker(rng))
		end := netFault(net, cluster.Fault{Refuse: true})
		net.Reset()
		return end
	}},
	{name: "kafka half-open", begin: func(r *run, rng *rand.Rand) func() {
		net := r.cluster.KafkaNet(r.cluster.AnyBroker(rng))
		end := netFault(net, cluster.Fault{Stall: true})
		return func() {
			net.Reset() // what was sent meanwhile never arrives
			end()
		}
	}},
	{name: "kafka leaders moved", needs: cluster.Brokers, begin: func(r *run, rng *rand.Rand) func() {
		topic := []string{topicChanges, topicIncrements}[rng.IntN(2)]
		// A broker that has just returned may not be in sync yet.
		if err := r.cluster.MoveLeaders(context.Background(), topic); err != nil {
			r.log.Note("", "leaders of %s were not moved: %v", topic, err)
		}
		return func() {}
	}},
	{name: "kafka leader elected uncleanly", needs: cluster.Brokers, begin: func(r *run, rng *rand.Rand) func() {
		topic := []string{topicChanges, topicIncrements}[rng.IntN(2)]
		alone := time.Duration(500+rng.IntN(1500)) * time.Millisecond
		r.mustWithin(func(ctx context.Context) error { return r.cluster.ElectUncleanly(ctx, rng, topic, alone) })
		r.players.replaced(topic)
		return func() {}
	}},
	{name: "kafka topic of changes recreated", begin: func(r *run, _ *rand.Rand) func() {
		return r.recreate(topicChanges)
	}},
	{name: "kafka topic of increments recreated", begin: func(r *run, _ *rand.Rand) func() {
		return r.recreate(topicIncrements)
	}},
	{name: "kafka changes repeated", begin: func(r *run, rng *rand.Rand) func() {
		for range 8 {
			if err := r.cluster.RepeatRecords(context.Background(), rng, topicChanges, 1+rng.IntN(100)); err != nil {
				r.log.Note("", "changes were not repeated: %v", err)
			}
		}
		return func() {}
	}},
	{name: "ranking rebuilt", begin: operated("/v1/admin/rebuild", func(*rand.Rand) map[string]any {
		return map[string]any{"all": true}
	})},
	{name: "ranking reconciled", begin: operated("/v1/admin/reconcile", func(*rand.Rand) map[string]any {
		return map[string]any{"all": true, "repair": true}
	})},
	{name: "ranking replayed", begin: operated("/v1/admin/replay", func(rng *rand.Rand) map[string]any {
		from := time.Now().Add(-time.Duration(rng.IntN(30)) * time.Second)
		return map[string]any{"from_time": from.UTC().Format(time.RFC3339Nano)}
	})},
	{name: "ranking requeued", begin: operated("/v1/admin/replay", func(*rand.Rand) map[string]any {
		return map[string]any{"dlq": true}
	})},
	{name: "kafka disk full", needs: cluster.Disks, begin: diskFull(cluster.Kafka)},
}

// The topics of an installation with default settings.
const (
	topicChanges    = "scoreboard.events.v1"
	topicIncrements = "score-increments.v1"
	partitions      = 16
)

// network is what a fault of the network is set in.
type network interface {
	Set(f cluster.Fault)
	Reset()
}

func netFault(p network, f cluster.Fault) func() {
	p.Set(f)
	return func() { p.Set(cluster.Fault{}) }
}

// swallowed drops answers, and then cuts the connections that wait for them.
func swallowed(p network) func() {
	p.Set(cluster.Fault{Swallow: true})
	return func() {
		p.Reset()
		p.Set(cluster.Fault{})
	}
}

// cutLog loses the last records of one topic. Those that wait in the outbox are written
// before consumers find the new end.
func cutLog(r *run, rng *rand.Rand) func() {
	topic := []string{topicChanges, topicIncrements}[rng.IntN(2)]
	cut, err := r.cluster.CutLogs(topic)
	r.must(err)
	if err != nil {
		return func() {}
	}
	return func() {
		r.mustWithin(cut)
		r.players.replaced(topic)
	}
}

// recreate loses all records of a topic. A broker that has just returned may not be
// able to yet; then the topic is there in the end.
func (r *run) recreate(topic string) func() {
	defer r.players.replaced(topic)
	err := r.cluster.RecreateTopic(context.Background(), topic, partitions)
	return func() {
		if err != nil {
			r.log.Note("", "%v", err)
			r.must(r.cluster.RecreateTopic(context.Background(), topic, partitions))
			r.players.replaced(topic)
		}
	}
}

// killAt kills a node when one of its connections to PostgreSQL is cut.
func (r *run) killAt(rng *rand.Rand, f cluster.Fault) func() {
	n := r.anyNode(rng)
	f.OnCut = n.Kill
	end := netFault(n.PostgresNet(), f)
	return func() {
		end()
		r.must(n.Start())
	}
}

// startTime is how long a node may take to serve that is started while a backend is down.
const startTime = 30 * time.Second

// startWithout starts a node while a backend is down. It serves what does not need it.
func (r *run) startWithout(rng *rand.Rand, b cluster.Backend) func() {
	n := r.node(rng, "api")
	n.Stop()
	r.cluster.KillBackend(b)
	r.must(n.Start())
	for deadline := time.Now().Add(startTime); !n.Serving(context.Background()); time.Sleep(50 * time.Millisecond) {
		if n.Exited() || time.Now().After(deadline) {
			r.log.Violate("availability", "", "node %d, started while %s is down, does not serve within %s",
				n.ID, b, startTime)
			break
		}
	}
	return func() { r.startBackend(b) }
}

func killed(b cluster.Backend) func(*run, *rand.Rand) func() {
	return func(r *run, _ *rand.Rand) func() {
		r.cluster.KillBackend(b)
		return func() { r.startBackend(b) }
	}
}

func paused(b cluster.Backend) func(*run, *rand.Rand) func() {
	return func(r *run, _ *rand.Rand) func() {
		r.cluster.Pause(b)
		return func() { r.cluster.Resume(b) }
	}
}

func diskFull(b cluster.Backend) func(*run, *rand.Rand) func() {
	return func(r *run, _ *rand.Rand) func() {
		free, err := r.cluster.FillDisk(b)
		r.must(err)
		if err != nil {
			return func() {}
		}
		if b == cluster.Postgres {
			for _, n := range r.cluster.Nodes {
				n.PostgresNet().Reset() // new sessions do not start
			}
		}
		return func() { r.mustWithin(free) }
	}
}

// wrong is an offset of a clock: ten minutes, at which requests are refused as too old
// or from the future, or less than their tolerance.
func wrong(rng *rand.Rand) time.Duration {
	offsets := []time.Duration{
		-10 * time.Minute, 10 * time.Minute, -20 * time.Second, 20 * time.Second, -time.Second, time.Second,
	}
	return offsets[rng.IntN(len(offsets))]
}

func stepped(r *run, rng *rand.Rand) func() {
	r.storeClock.Store(true)
	r.must(r.cluster.SetPostgresClock(wrong(rng)))
	time.Sleep(time.Second) // the processes follow within that
	return func() { r.must(r.cluster.SetPostgresClock(0)) }
}

// slewed lets a node's clock gain or lose a tenth.
func slewed(r *run, rng *rand.Rand) func() {
	n := r.anyNode(rng)
	step := time.Duration(1-2*rng.IntN(2)) * 10 * time.Millisecond
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for offset := step; ; offset += step {
			select {
			case <-stop:
				r.must(n.SetClock(0))
				return
			case <-time.After(100 * time.Millisecond):
				r.must(n.SetClock(offset))
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// operated sends an operator's job, which may fail, and waits for its end.
func operated(path string, body func(*rand.Rand) map[string]any) func(*run, *rand.Rand) func() {
	return func(r *run, rng *rand.Rand) func() {
		node, content, done := r.node(rng, "api"), body(rng), make(chan struct{})
		go func() {
			defer close(done)
			r.admin(context.Background(), node, http.MethodPost, path, content)
		}()
		return func() { <-done }
	}
}

// limitRedis leaves Redis no memory for writes.
func (r *run) limitRedis() func() {
	limit := func(to string) error {
		return r.cluster.OnRedis(func(ctx context.Context, rdb *redis.Client) error {
			return rdb.ConfigSet(ctx, "maxmemory", to).Err()
		})
	}
	_ = limit("1")
	return func() {
		for range 20 {
			if limit("0") == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		r.must(limit("0"))
	}
}

// restoreRedis puts back what Redis had written a moment ago, as a replica that
// was promoted late or a restored snapshot would.
func (r *run) restoreRedis(rng *rand.Rand) func() {
	dir := filepath.Join(r.cluster.Dir(cluster.Redis), "appendonlydir")
	old := dir + ".old"
	_ = os.RemoveAll(old)
	r.must(exec.Command("cp", "-a", dir, old).Run()) //nolint:noctx // a copy of a few kilobytes
	time.Sleep(time.Duration(500+rng.IntN(1500)) * time.Millisecond)
	r.cluster.KillBackend(cluster.Redis)
	r.must(os.RemoveAll(dir))
	r.must(os.Rename(old, dir))
	return func() { r.startBackend(cluster.Redis) }
}

// schedule fails something, alone or in pairs, again and again until ctx ends,
// in an order that the seed decides. It leaves everything healthy.
func (r *run) schedule(ctx context.Context, rng *rand.Rand) {
	var drawn []fault
	for _, f := range slices.Concat(faults, hostFaults) {
		if r.wanted(f.name) && r.cluster.Can(f.needs) && (!f.acts("kafka") || r.cluster.Can(cluster.Broker)) {
			drawn = append(drawn, f)
		}
	}
	if len(drawn) == 0 && r.wanted(rewindFault) {
		return // it comes at the end
	}
	if len(drawn) == 0 {
		r.log.Violate("harness", "", "no fault matches %q", r.o.only)
		return
	}
	for ctx.Err() == nil {
		pause(ctx, time.Duration(500+rng.IntN(1500))*time.Millisecond)
		var ends []func()
		var hit []string
		lost := false
		for range 1 + rng.IntN(2) {
			f := drawn[rng.IntN(len(drawn))]
			if slices.ContainsFunc(hit, f.acts) {
				continue
			}
			target, _, _ := strings.Cut(f.name, " ")
			hit = append(hit, target)
			r.log.Note("", "fault: %s", f.name)
			if f.loses || f.promotes && !r.cluster.Can(cluster.OneRedis) {
				r.players.redisLost(true)
				lost = true
			}
			ends = append(ends, f.begin(r, rng))
		}
		pause(ctx, time.Duration(300+rng.IntN(3200))*time.Millisecond)
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
		if lost {
			r.mustWithin(r.cluster.AwaitPrimaries)
			r.players.redisLost(false)
		}
		r.log.Note("", "faults end")
		r.revive()
	}
}

// revive starts nodes that ended by themselves, as a supervisor would.
func (r *run) revive() {
	for _, n := range r.cluster.Nodes {
		if n.Exited() {
			r.log.Note("", "node %d had ended by itself and is started again", n.ID)
		}
		r.must(n.Start())
	}
}
