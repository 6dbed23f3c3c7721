package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/internal/redislease"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Consumer reads the streams as a member of a group. Each stream has one reader
// at a time, by a lease: with two, a heartbeat could overtake an earlier entry
// that the other one still handles.
type Consumer struct {
	transport *Transport
	name      string
	log       *slog.Logger
	moved     func(context.Context) error // nil unless OnMove was called

	lag      atomic.Int64
	lagGauge *metric.Expiring
}

const (
	leaseDuration  = 3 * time.Second  // how long a dead member keeps its streams
	readBlock      = time.Second      // how long a read of an empty stream waits
	claimInterval  = 10 * time.Second // between two searches for entries of dead members
	expireInterval = time.Minute      // between two removals of old entries
)

// Consumer returns a member of the group.
func (t *Transport) Consumer(log *slog.Logger) *Consumer {
	return &Consumer{
		transport: t, name: rand.Text(), log: log, lagGauge: transport.NewLagGauge(t.o.Name, t.o.Group),
	}
}

// Intact implements projection.Source: without its streams, Redis has lost the ranking,
// too, which the ranking notices itself. A cluster may not have: OnMove.
func (c *Consumer) Intact(context.Context) bool { return true }

// Collectors returns the metrics, for registration.
func (c *Consumer) Collectors() []prometheus.Collector { return []prometheus.Collector{c.lagGauge} }

// Status returns the lag as last measured.
func (c *Consumer) Status() transport.ConsumerStatus {
	return transport.ConsumerStatus{Topic: c.transport.o.Name, Lag: c.lag.Load()}
}

// expireEntries enforces the retention until ctx ends. Every member does, so that it
// needs no owner.
func (c *Consumer) expireEntries(ctx context.Context) error {
	if c.transport.o.Retention <= 0 {
		return nil
	}
	tick := time.NewTicker(expireInterval)
	defer tick.Stop()
	for {
		for shard := range c.transport.o.Shards {
			if err := c.transport.expire(ctx, c.transport.stream(shard)); err != nil && ctx.Err() == nil {
				c.log.Warn("old entries not removed; the next try is in a minute",
					"stream", c.transport.o.Name, "err", err)
				break
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// MeasureLag counts the entries of the streams that the group has not
// acknowledged.
func (c *Consumer) MeasureLag(ctx context.Context) (int64, error) {
	var total int64
	for shard := range c.transport.o.Shards {
		n, err := c.transport.lagOf(ctx, c.transport.stream(shard))
		if err != nil {
			return 0, err
		}
		total += n
	}
	c.lag.Store(total)
	c.lagGauge.Set(float64(total))
	return total, nil
}

func (t *Transport) lagOf(ctx context.Context, stream string) (int64, error) {
	length, err := t.rdb.XLen(ctx, stream).Result()
	if err != nil || length == 0 {
		return 0, lagError(err, stream)
	}
	groups, err := t.rdb.XInfoGroups(ctx, stream).Result()
	if err != nil {
		return 0, lagError(err, stream)
	}
	for _, g := range groups {
		if g.Name != t.o.Group {
			continue
		}
		// Redis does not always know the group's lag, but it knows whether an
		// entry follows the last one delivered.
		next, err := t.rdb.XRangeN(ctx, stream, "("+g.LastDeliveredID, "+", 1).Result()
		if err != nil || len(next) == 0 {
			return g.Pending, lagError(err, stream)
		}
		return g.Pending + max(g.Lag, 1), nil
	}
	return length, nil // the group has not read the stream yet
}

// awaitInterval is the time between two questions for what the group has acknowledged.
const awaitInterval = 50 * time.Millisecond

// AwaitConsumed returns nil once the group has acknowledged everything that was in the
// streams at the call.
func (c *Consumer) AwaitConsumed(ctx context.Context) error {
	t := c.transport
	last := make([]*redis.XMessageSliceCmd, t.o.Shards)
	_, err := t.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range last {
			last[shard] = p.XRevRangeN(ctx, t.stream(shard), "+", "-", 1)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the ends of %s: %w", t.o.Name, err)
	}
	for shard, l := range last {
		for entries := l.Val(); len(entries) > 0; {
			consumed, err := t.consumed(ctx, t.stream(shard), entries[0].ID)
			if err != nil {
				return err
			}
			if consumed {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for group %s to consume %s: %w", t.o.Group, t.o.Name, ctx.Err())
			case <-time.After(awaitInterval):
			}
		}
	}
	return nil
}

// consumed reports whether the group has acknowledged a stream's entries up to an id. What
// Redis has lost meanwhile counts as consumed.
func (t *Transport) consumed(ctx context.Context, stream, id string) (bool, error) {
	groups, err := t.rdb.XInfoGroups(ctx, stream).Result()
	if err != nil {
		return redis.HasErrorPrefix(err, "no such key"), lagError(err, stream)
	}
	for _, g := range groups {
		if g.Name != t.o.Group {
			continue
		}
		first, err := t.firstNeeded(ctx, stream, g)
		return err == nil && offsetOf(first) > offsetOf(id), err
	}
	return false, nil
}

func lagError(err error, stream string) error {
	if err == nil || redis.HasErrorPrefix(err, "no such key") { // Redis was flushed between two commands
		return nil
	}
	return fmt.Errorf("measure the lag of %s: %w", stream, err)
}

// Consume calls handle with records as they arrive, and acknowledges them after
// it has returned. It handles the streams concurrently. It returns nil when ctx
// ends, otherwise the first error.
func (c *Consumer) Consume(ctx context.Context, handle transport.Handler) error {
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return c.expireEntries(inner) })
	for shard := range c.transport.o.Shards {
		g.Go(func() error { return c.runShard(inner, shard, handle) })
	}
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// runShard reads a stream while it has the lease.
func (c *Consumer) runShard(ctx context.Context, shard int, handle transport.Handler) error {
	r := &reader{c: c, shard: shard, stream: c.transport.stream(shard), handle: handle}
	defer r.release(ctx)
	for ctx.Err() == nil {
		owned, err := redislease.Take(ctx, c.transport.rdb, r.leaseKey(), c.name, leaseDuration)
		if err != nil {
			return err
		}
		if owned {
			if err := r.readOwned(ctx); err != nil {
				return err
			}
			continue
		}
		select {
		case <-time.After(leaseDuration / 4):
		case <-ctx.Done():
		}
	}
	return nil
}

// reader reads one stream.
type reader struct {
	c        *Consumer
	shard    int
	stream   string
	handle   transport.Handler
	pausedAt int64 // first offset that is not handled; -1: not paused
}

func (r *reader) leaseKey() string { return r.stream + ":reader:" + r.c.transport.o.Group }

// release ends the lease early, so that the next reader need not wait.
func (r *reader) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := redislease.Release(ctx, r.c.transport.rdb, r.leaseKey(), r.c.name); err != nil {
		r.c.log.Debug("lease left to expire", "stream", r.stream, "err", err)
	}
}

// CreateGroups creates the streams that do not exist yet, with the consumer's group. Consume
// does so, too, but some time after it was called.
func (c *Consumer) CreateGroups(ctx context.Context) error {
	for shard := range c.transport.o.Shards {
		if err := c.transport.createGroup(ctx, c.transport.stream(shard)); err != nil {
			return err
		}
	}
	return nil
}

// createGroup creates a stream, unless it exists, and the group from its first entry on.
func (t *Transport) createGroup(ctx context.Context, stream string) error {
	err := t.rdb.XGroupCreateMkStream(ctx, stream, t.o.Group, "0").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return fmt.Errorf("create the group of %s: %w", stream, err)
	}
	return nil
}

// readOwned handles pending entries, whichever member they were delivered to, and then new
// ones. It returns nil when the lease or the group is lost, or ctx ends. Pending entries are
// looked for again now and then, and members that have none left are removed.
func (r *reader) readOwned(ctx context.Context) error {
	r.pausedAt = -1 // a member of another build may have consumed the stream further
	if err := r.c.transport.createGroup(ctx, r.stream); err != nil {
		return err
	}
	var claimed time.Time
	for ctx.Err() == nil {
		read := r.readBatch
		if r.pausedAt < 0 && time.Since(claimed) > claimInterval {
			read, claimed = r.claimPending, time.Now()
		}
		err := read(ctx)
		switch {
		case errors.Is(err, errLost):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// readBatch handles the next batch of entries, or waits for one. A paused stream has none.
func (r *reader) readBatch(ctx context.Context) error {
	if r.pausedAt >= 0 {
		select {
		case <-time.After(leaseDuration / 4):
		case <-ctx.Done():
			return nil
		}
		_, _, err := r.run(ctx, renewScript)
		return err
	}
	entries, last, err := r.run(ctx, readScript)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return r.handleAll(ctx, entries)
	}
	return r.await(ctx, last)
}

// await waits for an entry after one. It takes none from the group.
func (r *reader) await(ctx context.Context, last string) error {
	err := r.c.transport.rdb.XRead(ctx, &redis.XReadArgs{
		Streams: []string{r.stream, last}, Count: 1, Block: readBlock,
	}).Err()
	// The stream may be deleted, or its server get another role, while this waits.
	if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "UNBLOCKED") {
		return fmt.Errorf("wait for entries of %s: %w", r.stream, err)
	}
	return nil
}

// claimPending handles entries that were delivered and never acknowledged, and
// removes members that have none left.
func (r *reader) claimPending(ctx context.Context) error {
	for start := "0-0"; ; {
		entries, next, err := r.run(ctx, claimScript, start)
		if err != nil {
			return err
		}
		if err := r.handleAll(ctx, entries); err != nil {
			return err
		}
		if start = next; start == "0-0" || r.pausedAt >= 0 {
			break
		}
	}
	_, _, err := r.run(ctx, tidyScript)
	return err
}

// handleAll delivers entries to the handler and acknowledges them.
func (r *reader) handleAll(ctx context.Context, entries []redis.XMessage) error {
	t := r.c.transport
	var records []scoreboard.Record
	var ids []string
	for _, e := range entries {
		records, ids = append(records, t.recordOf(r.shard, e)), append(ids, e.ID)
	}
	if len(records) == 0 {
		return nil
	}
	if err := r.checkHolder(ctx); err != nil {
		return err
	}
	// Not renewed meanwhile: if this node alone does not reach the handler's backend, a member
	// that does takes over and handles the same entries, before it reads later ones.
	paused, err := r.handle(ctx, records)
	if err != nil {
		return fmt.Errorf("handle %d records of %s: %w", len(records), r.stream, err)
	}
	if first, ok := paused[r.shard]; ok {
		r.pausedAt = first
		r.c.log.Error("stream paused", "stream", r.stream, "offset", first)
		for i := range records {
			if records[i].Offset >= first {
				ids = ids[:i]
				break
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := t.rdb.XAck(ctx, r.stream, t.o.Group, ids...).Err(); err != nil {
		return fmt.Errorf("acknowledge %d records of %s: %w", len(ids), r.stream, err)
	}
	return nil
}

// recordOf reads an entry. One that another program wrote may have no value; it
// is then malformed.
func (t *Transport) recordOf(shard int, e redis.XMessage) scoreboard.Record {
	offset := offsetOf(e.ID)
	key, _ := e.Values[fieldKey].(string)
	value, _ := e.Values[fieldValue].(string)
	trace, _ := e.Values[transport.HeaderTrace].(string)
	return scoreboard.Record{
		Topic: t.o.Name, Partition: shard, Offset: offset, Key: []byte(key), Value: []byte(value),
		Time: time.UnixMilli(offset >> 20), Trace: trace,
	}
}
