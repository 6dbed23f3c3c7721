package limit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

//go:embed connections.lua
var luaConnections string

const (
	// connectionLease is how long the connections of a node count without a renewal.
	connectionLease = 30 * time.Second
	// renewRetry is how soon a node tries again after a failure.
	renewRetry = time.Second
	// recordBatch is how many records one pipeline carries, and recordTimeout how long
	// it may take.
	recordBatch   = 500
	recordTimeout = time.Second
)

// Connections counts the open connections of each user on all nodes together: in Redis,
// where a node's connections count as long as it renews their lease. Joining takes one
// round trip; what left and what is renewed travels in pipelines. While Redis does not
// answer, a node counts its own connections only.
type Connections struct {
	limiter *Limiter
	node    string
	lease   time.Duration
	script  *redis.Script
	wake    chan struct{} // of Run: changed is not empty

	mu      sync.Mutex
	open    map[scoreboard.UserID]int      // on this node
	changed map[scoreboard.UserID]struct{} // whose record in Redis is not the current one
	number  int64                          // of the last record
}

// Connections returns the counter of a node, whose name is unique among all processes
// that ever run. Its Run renews what it counted.
func (l *Limiter) Connections(node string) *Connections { return l.connections(node, connectionLease) }

func (l *Limiter) connections(node string, lease time.Duration) *Connections {
	return &Connections{
		limiter: l, node: node, lease: lease, script: redis.NewScript(luaConnections), wake: make(chan struct{}, 1),
		open: make(map[scoreboard.UserID]int), changed: make(map[scoreboard.UserID]struct{}),
	}
}

// record is what a node says about a user.
type record struct {
	user   scoreboard.UserID
	number int64
	open   int
}

// next returns the current record of a user. c.mu is held.
func (c *Connections) next(user scoreboard.UserID) record {
	c.number++
	return record{user, c.number, c.open[user]}
}

// Join counts a connection of a user unless the user has limit of them; 0 is no limit.
// It returns how many the user has then. A connection that was counted must Leave.
func (c *Connections) Join(ctx context.Context, user scoreboard.UserID, limit int) (open int, ok bool) {
	c.mu.Lock()
	if mine := c.open[user]; limit > 0 && mine >= limit {
		c.mu.Unlock()
		return mine, false
	}
	c.open[user]++
	r := c.next(user)
	c.mu.Unlock()
	if limit == 0 {
		return r.open, true
	}
	if budget, ok := c.limiter.breaker.Budget(redisTimeout); ok {
		others, within, err := c.join(ctx, r, limit, budget)
		c.limiter.breaker.Done(err == nil)
		switch {
		case err == nil && within:
			return others + r.open, true
		case err == nil:
			c.Leave(user)
			return others + r.open - 1, false
		}
	}
	c.limiter.local.Inc()
	c.mu.Lock()
	c.markChanged(user)
	c.mu.Unlock()
	return r.open, true
}

// join writes a record unless it exceeds a limit. The call does not end with its
// caller: a cancelled request says nothing about Redis.
func (c *Connections) join(
	ctx context.Context, r record, limit int, budget time.Duration,
) (others int, within bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), budget)
	defer cancel()
	answer, err := c.script.Run(ctx, c.limiter.rdb, connectionKeys(r.user), c.arguments(r, limit)...).Int64Slice()
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("count the connections of %s in Redis: %w", r.user, err)
	case len(answer) != 2:
		return 0, false, fmt.Errorf("count the connections of %s in Redis: got %d fields, want 2", r.user, len(answer))
	}
	return int(answer[1]), answer[0] == 1, nil
}

// connectionKeys has the hash tag that pins a user's key to one slot of a cluster.
func connectionKeys(user scoreboard.UserID) []string {
	return []string{"sb:limit:connections:{" + string(user) + "}"}
}

func (c *Connections) arguments(r record, limit int) []any {
	return []any{c.node, r.number, r.open, c.lease.Milliseconds(), limit}
}

// Leave ends what Join counted. It does not block.
func (c *Connections) Leave(user scoreboard.UserID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[user]--; c.open[user] <= 0 {
		delete(c.open, user)
	}
	c.markChanged(user)
}

// markChanged makes Run write the record of a user. c.mu is held.
func (c *Connections) markChanged(user scoreboard.UserID) {
	c.changed[user] = struct{}{}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run writes changes and renews leases until ctx ends, and then what was left.
func (c *Connections) Run(ctx context.Context) error {
	renew := time.NewTimer(c.lease / 3)
	defer renew.Stop()
	retrying := false
	for {
		select {
		case <-ctx.Done():
			_ = c.write(c.takeChanged()) // else their leases end
			return nil
		case <-c.wake:
			// What could not be written is not kept, because everything is renewed at
			// the next try. The leases of users who left end.
			if c.write(c.takeChanged()) != nil && !retrying {
				retrying = true
				renew.Reset(renewRetry)
			}
		case <-renew.C:
			if retrying = c.write(c.all()) != nil; retrying {
				renew.Reset(renewRetry)
				continue
			}
			renew.Reset(c.lease / 3)
		}
	}
}

func (c *Connections) takeChanged() []scoreboard.UserID {
	c.mu.Lock()
	defer c.mu.Unlock()
	users := slices.Collect(maps.Keys(c.changed))
	c.changed = make(map[scoreboard.UserID]struct{})
	return users
}

func (c *Connections) all() []scoreboard.UserID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.AppendSeq(make([]scoreboard.UserID, 0, len(c.open)), maps.Keys(c.open))
}

var errAway = errors.New("no answer from Redis lately")

// write writes the current records of users. The first failure ends it.
func (c *Connections) write(users []scoreboard.UserID) error {
	for batch := range slices.Chunk(users, recordBatch) {
		budget, ok := c.limiter.breaker.Budget(recordTimeout)
		if !ok {
			return errAway
		}
		records := make([]record, len(batch))
		c.mu.Lock()
		for i, user := range batch {
			records[i] = c.next(user)
		}
		c.mu.Unlock()
		err := c.pipeline(records, budget)
		c.limiter.breaker.Done(err == nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// pipeline writes records in one round trip, or two if Redis does not have the script.
func (c *Connections) pipeline(records []record, budget time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	run := func(eval func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) error {
		_, err := c.limiter.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, r := range records {
				eval(ctx, p, connectionKeys(r.user), c.arguments(r, 0)...)
			}
			return nil
		})
		return err
	}
	err := run(c.script.EvalSha)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = run(c.script.Eval)
	}
	if err != nil {
		return fmt.Errorf("record the connections of %d users in Redis: %w", len(records), err)
	}
	return nil
}
