package main

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/torture/cluster"
	"github.com/scoreboard/scoreboard/internal/torture/netfault"
)

// fault is one way to fail. begin returns what ends it.
type fault struct {
	name  string // its first word is what it acts on: pairs never share that
	begin func(r *run, rng *rand.Rand) (end func())
}

// faults are all that a schedule draws from.
var faults = []fault{
	{"node killed", func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		n.Kill()
		return func() { r.must(n.Start()) }
	}},
	{"node paused", func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		n.Pause()
		return n.Resume
	}},
	{"node restarted", func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		n.Stop()
		r.must(n.Start())
		return func() {}
	}},
	{"postgres killed", killed(cluster.Postgres)},
	{"redis killed", killed(cluster.Redis)},
	{"kafka killed", killed(cluster.Kafka)},
	{"postgres paused", paused(cluster.Postgres)},
	{"redis paused", paused(cluster.Redis)},
	{"kafka paused", paused(cluster.Kafka)},
	{"postgres connections reset", func(r *run, rng *rand.Rand) func() {
		r.anyNode(rng).PostgresNet().Reset()
		return func() {}
	}},
	{"postgres cut at commit", func(r *run, rng *rand.Rand) func() {
		return netFault(r.anyNode(rng).PostgresNet(), netfault.Fault{CutAtCommit: true})
	}},
	{"postgres cut at a message", func(r *run, rng *rand.Rand) func() {
		return netFault(r.anyNode(rng).PostgresNet(), netfault.Fault{CutAfter: 20 + rng.IntN(60)})
	}},
	{"postgres stalled", func(r *run, rng *rand.Rand) func() {
		return netFault(r.anyNode(rng).PostgresNet(), netfault.Fault{Stall: true})
	}},
	{"postgres delayed", func(r *run, rng *rand.Rand) func() {
		return netFault(
			r.anyNode(rng).PostgresNet(),
			netfault.Fault{Delay: time.Duration(5+rng.IntN(60)) * time.Millisecond},
		)
	}},
	{"redis stalled", func(r *run, rng *rand.Rand) func() {
		return netFault(r.anyNode(rng).RedisNet(), netfault.Fault{Stall: true})
	}},
	{"redis unreachable", func(r *run, rng *rand.Rand) func() {
		n := r.anyNode(rng)
		end := netFault(n.RedisNet(), netfault.Fault{Refuse: true})
		n.RedisNet().Reset()
		return end
	}},
	{"redis flushed", func(r *run, _ *rand.Rand) func() {
		r.withRedis(func(ctx context.Context, rdb *redis.Client) { _ = rdb.FlushAll(ctx).Err() })
		return func() {}
	}},
	{"redis restored from an old copy", func(r *run, rng *rand.Rand) func() {
		return r.restoreRedis(rng)
	}},
	{"kafka stalled", func(r *run, _ *rand.Rand) func() {
		return netFault(r.cluster.KafkaNet(), netfault.Fault{Stall: true})
	}},
	{"kafka unreachable", func(r *run, _ *rand.Rand) func() {
		end := netFault(r.cluster.KafkaNet(), netfault.Fault{Refuse: true})
		r.cluster.KafkaNet().Reset()
		return end
	}},
}

func netFault(p *netfault.Proxy, f netfault.Fault) func() {
	p.Set(f)
	return func() { p.Set(netfault.Fault{}) }
}

func killed(b cluster.Backend) func(*run, *rand.Rand) func() {
	return func(r *run, _ *rand.Rand) func() {
		r.cluster.KillBackend(b)
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			r.must(r.cluster.StartBackend(ctx, b))
		}
	}
}

func paused(b cluster.Backend) func(*run, *rand.Rand) func() {
	return func(r *run, _ *rand.Rand) func() {
		r.cluster.Pause(b)
		return func() { r.cluster.Resume(b) }
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
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r.must(r.cluster.StartBackend(ctx, cluster.Redis))
	}
}

func (r *run) withRedis(do func(context.Context, *redis.Client)) {
	o, err := redis.ParseURL(r.cluster.RedisURL())
	if err != nil {
		r.must(err)
		return
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	do(ctx, rdb)
}

func (r *run) anyNode(rng *rand.Rand) *cluster.Node {
	return r.cluster.Nodes[rng.IntN(len(r.cluster.Nodes))]
}

// must stops a run whose own means fail: it would prove nothing.
func (r *run) must(err error) {
	if err != nil {
		r.log.Violate("harness", "", "%v", err)
	}
}

// schedule fails something, alone or in pairs, again and again until ctx ends,
// in an order that the seed decides. It leaves everything healthy.
func (r *run) schedule(ctx context.Context, rng *rand.Rand) {
	var drawn []fault
	for _, f := range faults {
		if r.o.only == "" || strings.Contains(f.name, r.o.only) {
			drawn = append(drawn, f)
		}
	}
	if len(drawn) == 0 && strings.Contains(rewindFault, r.o.only) {
		return // it comes at the end
	}
	if len(drawn) == 0 {
		r.log.Violate("harness", "", "no fault matches %q", r.o.only)
		return
	}
	for ctx.Err() == nil {
		pause(ctx, time.Duration(500+rng.IntN(1500))*time.Millisecond)
		var ends []func()
		hit := make(map[string]bool)
		for range 1 + rng.IntN(2) {
			f := drawn[rng.IntN(len(drawn))]
			target, _, _ := strings.Cut(f.name, " ")
			if hit[target] {
				continue
			}
			hit[target] = true
			r.log.Note("", "fault: %s", f.name)
			ends = append(ends, f.begin(r, rng))
		}
		pause(ctx, time.Duration(300+rng.IntN(3200))*time.Millisecond)
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
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
