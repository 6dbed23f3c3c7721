package ranking

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/partitions"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Tags are the hash tags of the buckets of a cluster.
func Tags() []int { return piece.Tags[:] }

// PartitionKey names the facts of the partition that has a user.
func (r *Ranking) PartitionKey(b *scoreboard.Board, user scoreboard.UserID) string {
	l, _ := piece.LayoutOf(b)
	return r.conn.Keys.Live(l.Part(l.Of(user)))[0]
}

// HeadKey names the merged top of a board in partitions.
func (r *Ranking) HeadKey(b *scoreboard.Board) string { return r.conn.Keys.Top(b.ID) }

// MergeSlowly merges the top as a process that calls pause between reading the partitions and
// storing what it merged. It reports whether that was stored.
func (r *Ranking) MergeSlowly(ctx context.Context, b *scoreboard.Board, pause func()) (bool, error) {
	l, _ := piece.LayoutOf(b)
	c, rows, err := r.partitions.AskFirst(ctx, l)
	if err != nil {
		return false, err
	}
	pause()
	return r.partitions.StoreTop(ctx, l, c, rows, &partitions.Merging{Applied: true})
}

// ApplyOnly applies a change of a board in partitions as a process that dies before it has
// merged the merged top.
func (r *Ranking) ApplyOnly(ctx context.Context, b *scoreboard.Board, c scoreboard.Change) error {
	l, _ := piece.LayoutOf(b)
	name := l.Part(l.Of(c.User))
	args := applyArguments(b.ID, piece.UserChanges{c.User: &c}, &piece.Freshness{}, "", "")
	return r.applier.quiet.Run(ctx, r.conn.Redis, r.applyKeys(name), args...).Err()
}

// ParsePartition reads a reply about one user, with rows beside it.
func ParsePartition(values []any) error {
	_, err := partitions.ParsePartition(redis.NewCmdResult(values, nil), 8, []partitions.Position{{Before: 1}}, 1)
	return err
}

// ParseTop reads a reply about a merged top.
func ParseTop(values []any) error {
	_, err := partitions.ParseTop(redis.NewCmdResult(values, nil))
	return err
}

// DiscardHash identifies the script that removes an unused partition.
func (r *Ranking) DiscardHash() string { return r.rebuilds.DiscardPart.Hash() }

// ForgetHash identifies the script that clears the record of a layout.
func (r *Ranking) ForgetHash() string { return r.rebuilds.ForgetLayout.Hash() }

// ForwardHash identifies the script that applies changes to the shadows of another layout.
func (r *Ranking) ForwardHash() string { return r.applier.forward.Hash() }

// BeginHash identifies the script that makes swapped-in partitions the live board.
func (r *Ranking) BeginHash() string { return r.rebuilds.Begin.Hash() }

// ShadowKeys names the facts of the shadows of a board's pieces.
func (r *Ranking) ShadowKeys(b *scoreboard.Board) []string {
	names := []scoreboard.BoardID{b.ID}
	if l, divided := piece.LayoutOf(b); divided {
		names = l.Parts()
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = r.conn.Keys.Shadow(name)[0]
	}
	return keys
}
