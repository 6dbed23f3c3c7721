package outbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// tended is a shard that this relay is at.
type tended struct {
	stop context.CancelFunc
	done chan struct{}
	seen atomic.Int64 // when its loop last came round, in nanoseconds
}

func (t *tended) see() { t.seen.Store(time.Now().UnixNano()) }

// stuck says that it has not come round for so long: its lease is somebody
// else's, or should be.
func (t *tended) stuck(life time.Duration) bool {
	return time.Since(time.Unix(0, t.seen.Load())) > life
}

func (t *tended) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// extentEvery is how often it is looked whether there are rows of more shards
// than are configured.
const extentEvery = 5 * time.Second

// Run relays this relay's part of the shards until ctx ends: all where it is
// alone, a fair part where others are alive. The lease rows decide; the list of
// who is alive only says who may ask for which.
func (r *Relay) Run(ctx context.Context) error {
	at := make(map[int]*tended)
	var all sync.WaitGroup
	defer func() {
		for _, t := range at {
			t.stop()
		}
		all.Wait()
		r.leave()
	}()
	tick := time.NewTicker(r.o.Lease / 5)
	defer tick.Stop()
	var alive []string
	var measured time.Time
	for ctx.Err() == nil {
		if now := time.Now(); now.Sub(measured) >= extentEvery && r.measure(ctx) {
			measured = now
		}
		if list, err := r.join(ctx, at); err == nil {
			alive = list
		} else if ctx.Err() == nil {
			r.log.Debug("relays not counted", "err", err) // the list stays what it was
		}
		mine := r.part(alive)
		for shard, t := range at {
			switch {
			case t.ended():
				delete(at, shard)
			case !slices.Contains(mine, shard):
				t.stop() // it finishes its batch and ends its lease
			}
		}
		for _, shard := range mine {
			if at[shard] == nil {
				at[shard] = r.start(ctx, &all, shard)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

var errStuck = errors.New("a shard's loop does not come round")

// join says that this relay is alive, unless one of its shards hangs: then the
// others are to take its part.
func (r *Relay) join(ctx context.Context, at map[int]*tended) ([]string, error) {
	for _, t := range at {
		if !t.ended() && t.stuck(r.o.Lease) {
			return nil, errStuck
		}
	}
	return r.queue.JoinRelays(ctx, r.o.Owner, r.o.Lease)
}

// part is every n-th shard, n being how many relays there are.
func (r *Relay) part(alive []string) (mine []int) {
	i := slices.Index(alive, r.o.Owner)
	if i < 0 {
		return nil
	}
	for shard := i; shard < int(r.extent.Load()); shard += len(alive) {
		mine = append(mine, shard)
	}
	return mine
}

func (r *Relay) start(ctx context.Context, all *sync.WaitGroup, shard int) *tended {
	ctx, stop := context.WithCancel(ctx)
	t := &tended{stop: stop, done: make(chan struct{})}
	t.see()
	all.Go(func() {
		defer close(t.done)
		defer stop()
		r.tend(ctx, shard, t.see)
	})
	return t
}

// measure looks how many shards there are: rows of shards above a number that
// was lowered are relayed, too.
func (r *Relay) measure(ctx context.Context) bool {
	n, err := r.queue.OutboxShards(ctx)
	if err != nil {
		return false
	}
	r.extent.Store(int64(max(n, r.o.Shards)))
	return true
}

func (r *Relay) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.queue.LeaveRelays(ctx, r.o.Owner); err != nil {
		r.log.Debug("relay left on the list", "err", err)
	}
}
