package leaderboard_test

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// commands counts the commands that a Redis client sends.
type commands struct{ atomic.Int64 }

func (c *commands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.Add(1)
		return next(ctx, cmd)
	}
}

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// node is a leaderboard that follows the notices of a Redis.
type node struct {
	*leaderboard.Leaderboard
	sent     commands
	notified atomic.Int64 // version of the last notice
}

func startNode(t *testing.T, url string) *node {
	t.Helper()
	n := &node{}
	rdb := backends.RedisClient(t, url)
	rdb.AddHook(&n.sent)
	rank := ranking.New(rdb)
	n.Leaderboard = leaderboard.New(leaderboard.Options{
		Catalog: oneBoard{}, Ranking: rank, Fallback: plainFallback{},
		TriggerRebuild: func() {}, Log: slog.New(slog.DiscardHandler),
	})
	following, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- ranking.New(backends.RedisClient(t, url)).Follow(following, func(notice scoreboard.Notice) {
			n.Notify(notice)
			if notice.Top != nil {
				n.notified.Store(notice.Top.Version)
			}
		}, func(err error) { t.Errorf("notice: %v", err) })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return n
}

func scored(user string, score, revision int64) scoreboard.Change {
	at := time.UnixMicro(1_800_000_000_000_000 + revision).UTC()
	return scoreboard.Change{
		Type:       scoreboard.ChangeScore,
		Board:      "global",
		User:       scoreboard.UserID(user),
		Score:      scoreboard.Score(score),
		Key:        -score,
		Version:    revision,
		Revision:   revision,
		ReachedAt:  at,
		RecordedAt: at,
	}
}

func TestReadAfterNoticeSendsNoCommand(t *testing.T) {
	t.Parallel()
	url := backends.Redis(t)
	r := ranking.New(backends.RedisClient(t, url))
	if _, err := r.Claim(ctx, &scoreboard.Board{ID: "global"}, "a"); err != nil {
		t.Fatal(err)
	}
	built := &scoreboard.Snapshot{Epoch: 1, UpdatedAt: time.Now(), AsOf: time.Now()}
	if _, err := r.Swap(ctx, global, "a", built); err != nil {
		t.Fatal(err)
	}
	asOf := time.Now().Add(time.Second).Truncate(time.Microsecond)
	beat := scoreboard.Heartbeat{Shards: 1, Partitions: 1, AsOf: asOf}
	if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{beat}); err != nil {
		t.Fatal(err)
	}
	nodes := []*node{startNode(t, url), startNode(t, url)}
	apply := func(changes ...scoreboard.Change) {
		t.Helper()
		if _, err := r.Apply(ctx, changes); err != nil {
			t.Fatal(err)
		}
	}
	// awaitNotice waits until a node has handled the notice of a version.
	awaitNotice := func(n *node, version int64) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); n.notified.Load() < version; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no notice of version %d after 10 s", version)
			}
		}
	}
	for _, n := range nodes { // until the subscription is active, and the top is cached
		for i := int64(1); n.notified.Load() == 0; i++ {
			apply(scored("alice", i, i))
			time.Sleep(10 * time.Millisecond)
		}
	}
	last, err := r.Top(ctx, global)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(20) {
		want := last.Version + i + 1
		for _, n := range nodes {
			if _, err := n.ReadTop(ctx, "global"); err != nil {
				t.Fatal(err)
			}
		}
		apply(scored("bob", 1000+i, i+1), scored("carol", 500+i, i+1))
		for _, n := range nodes {
			awaitNotice(n, want)
			before := n.sent.Load()
			read := time.Now()
			top, err := n.Top(ctx, global, 0)
			if err != nil {
				t.Fatal(err)
			}
			if sent := n.sent.Load() - before; sent > 0 && time.Since(read) < 200*time.Millisecond {
				t.Errorf("a read after the notice of version %d sent %d commands", want, sent)
			}
			current, err := r.Top(ctx, global)
			if err != nil {
				t.Fatal(err)
			}
			if top.Version != want || top.Degraded != "" || top.State != current.State || top.Total != current.Total ||
				!top.AsOf.Equal(asOf) {
				t.Errorf("got %+v, want version %d as of %s", top, want, asOf)
			}
			for j, e := range current.Entries {
				if top.Entries[j] != e || !top.Reached[j].Equal(current.Reached[j]) {
					t.Errorf(
						"row %d is %+v of %s, want %+v of %s",
						j, top.Entries[j], top.Reached[j], e, current.Reached[j],
					)
				}
			}
		}
	}
}

// healthy is a ranking whose tops are healthy, at a version that a test sets.
type healthy struct {
	hanging
	version, reads atomic.Int64
	during         func() // called while the top is being read
}

func (h *healthy) Top(_ context.Context, id *scoreboard.Board) (*scoreboard.Top, error) {
	h.reads.Add(1)
	top := headAt(h.version.Load())
	if h.during != nil {
		h.during()
	}
	top.Board, top.State, top.Reached = id.ID, scoreboard.StateHealthy, []time.Time{time.UnixMicro(1)}
	return top, nil
}

// headAt is the top of a version: alice, whose score is the version.
func headAt(version int64) *scoreboard.Top {
	return &scoreboard.Top{
		Board: "global", Epoch: 7, Version: version, AsOf: time.UnixMicro(1000), Total: 1,
		Entries: []scoreboard.Entry{{Rank: 1, User: "alice", Score: scoreboard.Score(version)}},
	}
}

func noticeOf(version int64) scoreboard.Notice {
	return scoreboard.Notice{Board: "global", Top: headAt(version), Moved: []scoreboard.Moved{
		{
			User:      "alice",
			Score:     scoreboard.Score(version),
			Revision:  version,
			Version:   version,
			ReachedAt: time.UnixMicro(version),
		},
	}}
}

func TestHeadFromNotice(t *testing.T) {
	t.Parallel()
	edit := func(do func(n *scoreboard.Notice)) scoreboard.Notice {
		n := noticeOf(6)
		do(&n)
		return n
	}
	cases := []struct {
		name    string
		notice  scoreboard.Notice
		read    bool // the next request reads the ranking
		version int64
	}{
		{"next version", noticeOf(6), false, 6},
		{"same version", noticeOf(5), false, 5},
		{"older version", noticeOf(4), false, 5},
		{"a version was lost", noticeOf(7), true, 9},
		{"another epoch", edit(func(n *scoreboard.Notice) { n.Top.Epoch = 8 }), true, 9},
		{"without as_of", edit(func(n *scoreboard.Notice) { n.Top.AsOf = time.Time{} }), true, 9},
		{"hides a user", edit(func(n *scoreboard.Notice) { n.Hides = true }), true, 9},
		{"too few rows", edit(func(n *scoreboard.Notice) { n.Top.Total = 2 }), true, 9},
		{"a row of unknown time", edit(func(n *scoreboard.Notice) { n.Moved = nil }), true, 9},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := &healthy{}
			h.version.Store(5)
			l := newLeaderboard(h)
			began := time.Now()
			if _, err := l.Top(ctx, global, 0); err != nil {
				t.Fatal(err)
			}
			h.version.Store(9)
			l.Notify(c.notice)
			top, err := l.Top(ctx, global, 0)
			if time.Since(began) > 200*time.Millisecond {
				t.Skip("the cached top has expired: the machine is too slow")
			}
			if err != nil || top.Version != c.version || (h.reads.Load() == 2) != c.read {
				t.Errorf(
					"got %+v, %v after %d reads; want version %d, read again: %t",
					top, err, h.reads.Load(), c.version, c.read,
				)
			}
		})
	}
}

func TestReorderedNoticesNeverGoBack(t *testing.T) {
	t.Parallel()
	h := &healthy{}
	h.version.Store(1)
	l := newLeaderboard(h)
	last := int64(0)
	check := func() {
		t.Helper()
		top, err := l.Top(ctx, global, 0)
		if err != nil || top.Version < last {
			t.Fatalf("got %+v, %v after version %d", top, err, last)
		}
		last = top.Version
	}
	check()
	for version := int64(2); version < 200; version += 2 {
		h.version.Store(version + 1)
		l.Notify(noticeOf(version + 1))
		check()
		l.Notify(noticeOf(version))
		check()
	}
}

// A read that began before a notice and ended after it must not replace the
// newer top.
func TestSlowReadKeepsNewerHead(t *testing.T) {
	t.Parallel()
	h := &healthy{}
	h.version.Store(1)
	l := newLeaderboard(h)
	if _, err := l.Top(ctx, global, 0); err != nil {
		t.Fatal(err)
	}
	h.during = func() { l.Notify(noticeOf(2)) }
	if top, err := l.ReadTop(ctx, "global"); err != nil || top.Version != 2 {
		t.Errorf("read: got %+v, %v, want the notice's version 2", top, err)
	}
	if top := l.CachedTop("global"); top == nil || top.Version != 2 {
		t.Errorf("cached: got %+v, want version 2", top)
	}
}

func TestDegradedHeadIsNotReplaced(t *testing.T) {
	t.Parallel()
	h := &healthy{}
	h.version.Store(1)
	var away atomic.Bool
	l := leaderboard.New(leaderboard.Options{
		Catalog: oneBoard{}, Ranking: h, Fallback: plainFallback{}, StoreUnavailable: away.Load,
		TriggerRebuild: func() {}, Log: slog.New(slog.DiscardHandler),
	})
	away.Store(true)
	if top, err := l.Top(ctx, global, 0); err != nil || top.Degraded == "" {
		t.Fatalf("got %+v, %v, want it degraded", top, err)
	}
	h.version.Store(2)
	l.Notify(noticeOf(2))
	if top, err := l.Top(ctx, global, 0); err != nil || top.Degraded == "" || h.reads.Load() != 2 {
		t.Errorf("got %+v, %v after %d reads, want it read again and degraded", top, err, h.reads.Load())
	}
}

func newLeaderboard(r leaderboard.Ranking) *leaderboard.Leaderboard {
	return leaderboard.New(leaderboard.Options{
		Catalog: oneBoard{}, Ranking: r, Fallback: plainFallback{},
		TriggerRebuild: func() {}, Log: slog.New(slog.DiscardHandler),
	})
}
