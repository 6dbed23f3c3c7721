package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Damage is what happened to a topic's log: records that a group has not consumed are
// gone, or the offsets that it has committed belong to records that are no longer
// there. An unclean election, a lost disk, a restored broker or a topic that was
// deleted and created again does that. kafka-go waits silently for the end to reach
// its offset, and then skips what was written meanwhile.
type Damage struct {
	Topic      string
	Partitions []DamagedPartition
	Replaced   bool // the topic is another one with the same name
}

// DamagedPartition is one partition of a damaged log.
type DamagedPartition struct {
	Partition int
	Committed int64 // by the group; -1: none
	First     int64 // retained
	End       int64
	Seen      int64 // the greatest end that this process has seen; 0: none
	Lost      int64 // records that the group cannot consume any more, as far as known
	Resume    int64 // where it is read again
}

func (d *Damage) Error() string {
	what := "cut"
	if d.Replaced {
		what = "replaced"
	}
	return fmt.Sprintf("the log of topic %s was %s in %d partitions", d.Topic, what, len(d.Partitions))
}

// Lost is the sum of the partitions.
func (d *Damage) Lost() (n int64) {
	for _, p := range d.Partitions {
		n += p.Lost
	}
	return n
}

// seenLog is what a consumer knows about the log from its last inspection.
type seenLog struct {
	id  [16]byte // of the topic; zero: unknown
	at  time.Time
	all map[int]position
}

// Damage is confirmed by confirmations more measurements: the end of a partition is
// briefly lower after a change of its leader.
const (
	confirmations   = 3
	confirmInterval = 250 * time.Millisecond
)

// rereadMargin is how long before the last inspection of an intact log it is read
// again: the clocks of the producers, which date the records, may differ.
const rereadMargin = 10 * time.Minute

// errPartly is in the chain of an error that means: the log is intact as far as its leaders
// answer.
var errPartly = errors.New("a part of the log is not known")

// inspect measures the positions of the group. Damage is nil for a log that is intact. The
// error is [errPartly] if some partitions, but not all, have no leader that answers.
// Damage is reported only when all are known.
func (c *Consumer) inspect(ctx context.Context) (now map[int]position, damage *Damage, err error) {
	c.inspecting.Lock()
	defer c.inspecting.Unlock()
	var unknown error
	for range 1 + confirmations {
		began := time.Now()
		id, err := c.client.topicID(ctx, c.topic)
		if err != nil {
			return nil, nil, err
		}
		if now, unknown, err = c.knownPositions(ctx); err != nil {
			return nil, nil, err
		}
		cuts, cutsUnknown := c.cuts(ctx, now)
		unknown = cmp.Or(unknown, cutsUnknown)
		damage = c.compare(id, now, cuts)
		if len(now) == 0 && unknown != nil {
			return nil, nil, unknown
		}
		if damage == nil && unknown != nil {
			// What is not known now was seen intact before, if at all, at the same time.
			all := maps.Clone(c.seen.all)
			if all == nil {
				all = make(map[int]position)
			}
			maps.Copy(all, now)
			c.seen = seenLog{id: id, at: c.seen.at, all: all}
			c.id.Store(&id)
			return now, nil, fmt.Errorf("%w: %w", errPartly, unknown)
		}
		if damage == nil {
			c.seen = seenLog{id: id, at: began, all: now}
			c.id.Store(&id)
			return now, nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(confirmInterval):
		}
	}
	if unknown != nil {
		return nil, nil, unknown
	}
	return now, damage, nil
}

// intactTimeout bounds the question whether a log is the same.
const intactTimeout = 300 * time.Millisecond

// Intact reports whether the topic is still the one that was inspected: records that were
// fetched before the call are then of its log. It is false if the brokers do not answer.
func (c *Consumer) Intact(ctx context.Context) bool {
	inspected := c.id.Load()
	if inspected == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, intactTimeout)
	defer cancel()
	id, err := c.client.topicID(ctx, c.topic)
	return err == nil && id == *inspected
}

// cuts returns where partitions were cut before what the group has committed.
func (c *Consumer) cuts(ctx context.Context, now map[int]position) (map[int]int64, error) {
	committed := make(map[int]cursor, len(now))
	for partition, p := range now {
		if p.committed >= 0 {
			committed[partition] = cursor{p.committed, p.epoch}
		}
	}
	return c.client.cutsBefore(ctx, c.topic, committed)
}

// compare returns how the log differs from what was seen before; cuts are offsets at which it
// was cut before what the group has committed.
func (c *Consumer) compare(id [16]byte, now map[int]position, cuts map[int]int64) *Damage {
	unknown := [16]byte{}
	d := &Damage{Topic: c.topic, Replaced: id != c.seen.id && id != unknown && c.seen.id != unknown}
	for partition, p := range now {
		was := c.seen.all[partition]
		beyond := p.committed > p.end
		_, grown := cuts[partition] // since it was cut
		cut := p.end < was.end
		trimmed := p.committed >= 0 && p.committed < p.first
		if !d.Replaced && !beyond && !cut && !grown && !trimmed {
			continue
		}
		damaged := DamagedPartition{
			Partition: partition, Committed: p.committed, First: p.first, End: p.end, Seen: was.end,
		}
		switch {
		case d.Replaced:
			damaged.Lost = max(0, was.end-max(was.committed, was.first))
		case cut:
			damaged.Lost = max(0, was.end-max(was.committed, was.first, p.end))
		case grown:
			damaged.Lost = max(0, was.end-p.committed)
		case trimmed:
			damaged.Lost = p.first - p.committed
		}
		d.Partitions = append(d.Partitions, damaged)
	}
	if len(d.Partitions) == 0 {
		return nil
	}
	slices.SortFunc(d.Partitions, func(a, b DamagedPartition) int { return a.Partition - b.Partition })
	return d
}

// recoverFrom reports damage and moves the group back to where every record that it
// may have missed is read again: handlers are idempotent. It returns an error after
// which a new session is started.
func (c *Consumer) recoverFrom(ctx context.Context, group *kafkago.ConsumerGroup, d *Damage) error {
	if err := c.chooseResume(ctx, d); err != nil {
		return fmt.Errorf("%w: %w", errSession, err)
	}
	c.log.Error("the topic's log was cut or replaced: reading it again",
		"topic", d.Topic, "partitions", len(d.Partitions), "replaced", d.Replaced, "lost", d.Lost())
	for _, p := range d.Partitions {
		c.log.Info("partition is read again",
			"topic", d.Topic, "partition", p.Partition, "committed", p.Committed, "first", p.First, "end", p.End,
			"seen", p.Seen, "lost", p.Lost, "offset", p.Resume)
	}
	if err := c.onDamage(ctx, d); err != nil {
		return fmt.Errorf("%w: %w", errSession, err)
	}
	if err := c.rewind(ctx, group, d); err != nil {
		return fmt.Errorf("%w: %w", errSession, err)
	}
	c.damages.Add(1)
	c.rewinds.Inc()
	c.lost.Add(d.Lost())
	c.losses.Add(float64(d.Lost()))
	c.damaged.Store(time.Now().Unix())
	c.inspecting.Lock()
	c.seen = seenLog{}
	c.inspecting.Unlock()
	c.id.Store(nil)
	return fmt.Errorf("%w: %w", errSession, d)
}

// chooseResume sets where each damaged partition is read again: from rereadMargin
// before the log was seen intact, else from its start.
func (c *Consumer) chooseResume(ctx context.Context, d *Damage) error {
	for i := range d.Partitions {
		p := &d.Partitions[i]
		p.Resume = p.First
		if d.Replaced || c.seen.at.IsZero() || p.Committed >= 0 && p.Committed < p.First {
			continue
		}
		span := scoreboard.OffsetRange{Partition: p.Partition, First: p.First, End: p.End}
		at, err := c.client.Log(c.topic).OffsetAt(ctx, span, c.seen.at.Add(-rereadMargin))
		if err != nil {
			return err
		}
		if p.Resume = at; p.Committed >= 0 {
			p.Resume = min(at, p.Committed)
		}
	}
	return nil
}

// rewindTimeout bounds the wait for the group's commits.
const rewindTimeout = 20 * time.Second

// rewind commits where the damaged partitions are read again, as a member of the group:
// the brokers accept no other commits while the group has members. All members start
// there in the next generation.
func (c *Consumer) rewind(ctx context.Context, group *kafkago.ConsumerGroup, d *Damage) error {
	ctx, cancel := context.WithTimeout(ctx, rewindTimeout)
	defer cancel()
	generation, err := group.Next(ctx)
	if err != nil {
		return fmt.Errorf("move group %s back: %w", c.group, err)
	}
	done := make(chan error, 1)
	generation.Start(func(context.Context) { done <- c.rewindIn(ctx, generation, d) })
	return <-done
}

// rewindIn is rewind in a generation of the group. Other members may commit what they
// have consumed once more, before they see the damage.
func (c *Consumer) rewindIn(ctx context.Context, generation *kafkago.Generation, d *Damage) error {
	resume := make(map[int]cursor, len(d.Partitions))
	for _, p := range d.Partitions {
		resume[p.Partition] = cursor{p.Resume, unknownEpoch}
	}
	for {
		if err := c.client.commit(generation, c.topic, resume); err != nil {
			return fmt.Errorf("move group %s back: %w", c.group, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("move group %s back: %w", c.group, ctx.Err())
		case <-time.After(2 * commitInterval):
		}
		all := make(map[int]position, len(d.Partitions))
		for _, p := range d.Partitions {
			all[p.Partition] = position{}
		}
		if err := c.commitsOf(ctx, all); err != nil {
			continue // the next round says whether it was done
		}
		done := true
		for _, p := range d.Partitions {
			at := all[p.Partition].committed
			done = done && at >= 0 && at <= p.Resume
		}
		if done {
			return nil
		}
	}
}
