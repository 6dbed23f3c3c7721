package ranking

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Tags are the hash tags of the buckets of a cluster.
func Tags() []int { return tags[:] }

// PartitionKey names the facts of the partition that has a user.
func (r *Ranking) PartitionKey(b *scoreboard.Board, user scoreboard.UserID) string {
	l, _ := layoutOf(b)
	return r.conn.keys.live(l.part(l.of(user)))[0]
}

// HeadKey names the head of a board in partitions.
func (r *Ranking) HeadKey(b *scoreboard.Board) string { return r.conn.keys.head(b.ID) }

// MergeSlowly merges the head as a process that calls pause between reading the partitions and
// storing what it merged. It reports whether that was stored.
func (r *Ranking) MergeSlowly(ctx context.Context, b *scoreboard.Board, pause func()) (bool, error) {
	l, _ := layoutOf(b)
	c, rows, err := r.partitions.askFirst(ctx, l)
	if err != nil {
		return false, err
	}
	pause()
	return r.partitions.storeHead(ctx, l, c, rows, &merging{applied: true})
}

// ApplyOnly applies a change of a board in partitions as a process that dies before it has
// merged the head.
func (r *Ranking) ApplyOnly(ctx context.Context, b *scoreboard.Board, c scoreboard.Change) error {
	l, _ := layoutOf(b)
	name := l.part(l.of(c.User))
	args := applyArguments(b.ID, userChanges{c.User: &c}, &freshness{}, "", "")
	return r.applier.quiet.Run(ctx, r.conn.rdb, r.applyKeys(name), args...).Err()
}

// ApplyBefore applies a change as a build that knows no partitions.
func (r *Ranking) ApplyBefore(ctx context.Context, c scoreboard.Change) (int64, error) {
	before := strings.Replace(luaApply, "redis.call('HGET', KEYS[4], 'next')", "nil", 1)
	if before == luaApply {
		panic("apply.lua has changed")
	}
	args := applyArguments(c.Board, userChanges{c.User: &c}, &freshness{}, "", "")
	return redis.NewScript(luaPut+before).Run(ctx, r.conn.rdb, r.applyKeys(c.Board), args...).Int64()
}

// ParsePartition reads a reply about one user, with rows beside it.
func ParsePartition(values []any) error {
	_, err := parsePartition(redis.NewCmdResult(values, nil), []sought{{before: 1}}, 1)
	return err
}

// ParseHead reads a reply about a head.
func ParseHead(values []any) error {
	_, err := parseHead(redis.NewCmdResult(values, nil))
	return err
}

// DiscardHash identifies the script that removes an unused partition.
func (r *Ranking) DiscardHash() string { return r.rebuilds.discardPart.Hash() }

// ForgetHash identifies the script that clears the record of a layout.
func (r *Ranking) ForgetHash() string { return r.rebuilds.forgetLayout.Hash() }

// ForwardHash identifies the script that applies changes to the shadows of another layout.
func (r *Ranking) ForwardHash() string { return r.applier.forward.Hash() }

// BeginHash identifies the script that makes swapped-in partitions the live board.
func (r *Ranking) BeginHash() string { return r.rebuilds.begin.Hash() }

// ShadowKeys names the facts of the shadows of a board's pieces.
func (r *Ranking) ShadowKeys(b *scoreboard.Board) []string {
	names := []scoreboard.BoardID{b.ID}
	if l, divided := layoutOf(b); divided {
		names = l.parts()
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = r.conn.keys.shadow(name)[0]
	}
	return keys
}
