package outbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// shardLoop is a running runShard.
type shardLoop struct {
	stop    context.CancelFunc
	done    chan struct{}
	touched atomic.Int64 // when the loop last showed progress, in Unix nanoseconds
}

func (l *shardLoop) touch() { l.touched.Store(time.Now().UnixNano()) }

// hangs reports whether the loop has shown no progress for the duration of a
// lease, so that another relay has its lease, or should have.
func (l *shardLoop) hangs(lease time.Duration) bool {
	return time.Since(time.Unix(0, l.touched.Load())) > lease
}

func (l *shardLoop) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// countInterval is the time between two counts of the shards that have rows.
const countInterval = 5 * time.Second

// Run relays this relay's share of the shards until ctx ends: all of them if it
// is the only relay. The lease rows decide who owns a shard; the list of live
// relays only says who should claim it.
func (r *Relay) Run(ctx context.Context) error {
	loops := make(map[int]*shardLoop)
	var running sync.WaitGroup
	defer func() {
		for _, l := range loops {
			l.stop()
		}
		running.Wait()
		r.leave()
	}()
	tick := time.NewTicker(r.o.LeaseDuration / 5)
	defer tick.Stop()
	var alive []string
	var counted time.Time
	for ctx.Err() == nil {
		if now := time.Now(); now.Sub(counted) >= countInterval && r.countShards(ctx) {
			counted = now
		}
		if list, err := r.join(ctx, loops); err == nil {
			alive = list
		} else if ctx.Err() == nil {
			r.log.Debug("relays not listed, keeping the previous list", "err", err)
		}
		share := r.share(alive)
		for shard, l := range loops {
			switch {
			case l.ended():
				delete(loops, shard)
			case !slices.Contains(share, shard):
				l.stop() // it finishes its batch and releases its lease
			}
		}
		for _, shard := range share {
			if loops[shard] == nil {
				loops[shard] = r.start(ctx, &running, shard)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

var errHangs = errors.New("the loop of a shard is stuck")

// join marks this relay as alive, unless the loop of a shard hangs: then the
// others take over its share.
func (r *Relay) join(ctx context.Context, loops map[int]*shardLoop) ([]string, error) {
	for _, l := range loops {
		if !l.ended() && l.hangs(r.o.LeaseDuration) {
			return nil, errHangs
		}
	}
	return r.queue.JoinRelays(ctx, r.o.Owner, r.o.LeaseDuration)
}

// share returns every n-th shard, with n live relays.
func (r *Relay) share(alive []string) (shards []int) {
	i := slices.Index(alive, r.o.Owner)
	if i < 0 {
		return nil
	}
	for shard := i; shard < int(r.shardCount.Load()); shard += len(alive) {
		shards = append(shards, shard)
	}
	return shards
}

func (r *Relay) start(ctx context.Context, running *sync.WaitGroup, shard int) *shardLoop {
	ctx, stop := context.WithCancel(ctx)
	l := &shardLoop{stop: stop, done: make(chan struct{})}
	l.touch()
	running.Go(func() {
		defer close(l.done)
		defer stop()
		r.runShard(ctx, shard, l.touch)
	})
	return l
}

// countShards updates the number of shards: after it was lowered, rows of the
// shards above it are still relayed.
func (r *Relay) countShards(ctx context.Context) bool {
	n, err := r.queue.OutboxShards(ctx)
	if err != nil {
		return false
	}
	r.shardCount.Store(int64(max(n, r.o.Shards)))
	return true
}

func (r *Relay) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.queue.LeaveRelays(ctx, r.o.Owner); err != nil {
		r.log.Debug("relay not removed from the list of live relays; its entry expires", "err", err)
	}
}
