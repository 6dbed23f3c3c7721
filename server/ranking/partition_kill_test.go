package ranking_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// process is another process on the same Redis, which a test stops between any two commands.
type process struct {
	rig
	left   int                    // commands until it is killed; negative: never
	before func(redis.Cmder)      // called before each command; may be nil
	fail   func(redis.Cmder) bool // whether a command does not arrive; may be nil
	hang   func(context.Context)  // called before each call; may be nil
}

var errKilled = errors.New("the process is killed")

func (r rig) process(t testing.TB) *process {
	t.Helper()
	var rdb redis.UniversalClient
	switch shared := r.rdb.(type) {
	case *redis.ClusterClient:
		o := *shared.Options()
		o.MaintNotificationsConfig, o.PushNotificationProcessor = nil, nil // of one client
		rdb = redis.NewClusterClient(&o)
	case *redis.Client:
		o := *shared.Options()
		o.MaintNotificationsConfig, o.PushNotificationProcessor = nil, nil
		rdb = redis.NewClient(&o)
	}
	p := &process{left: -1}
	rdb.AddHook(p)
	p.rig = rig{ranking.New(rdb), rdb}
	t.Cleanup(func() { _ = rdb.Close() })
	return p
}

func (p *process) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (p *process) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !p.sends(cmd) {
			cmd.SetErr(errKilled)
			return errKilled
		}
		return next(ctx, cmd)
	}
}

func (p *process) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if p.hang != nil {
			p.hang(ctx)
		}
		sent := 0
		for sent < len(cmds) && p.sends(cmds[sent]) {
			sent++
		}
		var err error
		if sent > 0 {
			err = next(ctx, cmds[:sent])
		}
		for _, cmd := range cmds[sent:] {
			cmd.SetErr(errKilled)
			err = errKilled
		}
		return err
	}
}

func (p *process) sends(cmd redis.Cmder) bool {
	if p.left == 0 || p.fail != nil && p.fail(cmd) {
		return false
	}
	p.left--
	if p.before != nil {
		p.before(cmd)
	}
	return true
}

// runs reports whether a command runs a script.
func runs(cmd redis.Cmder, hash string) bool {
	return len(cmd.Args()) > 1 && cmd.Name() == "evalsha" && cmd.Args()[1] == hash
}

// tryRebuild is rebuild, until the process is killed. It reports whether it got to the end.
func (p *process) tryRebuild(b *scoreboard.Board, token string, snapshotOf func() []scoreboard.Change) bool {
	if ok, err := p.Claim(ctx, b, token); !ok || err != nil {
		return false
	}
	states := snapshotOf()
	if err := p.Fill(ctx, b.ID, token, states); err != nil {
		return false
	}
	epoch, err := p.Epoch(ctx, b)
	if err != nil {
		return false
	}
	_, err = p.Swap(ctx, b, token, snapshot(int64(len(states)), epoch+1))
	return err == nil && p.left != 0
}

// expireShadows removes shadows, as time does.
func (r rig) expireShadows(t testing.TB) {
	t.Helper()
	for _, key := range r.allKeys(t) {
		if strings.Contains(key, "shadow") {
			r.rdb.Del(ctx, key)
		}
	}
}

// longOnMiniredis skips a test of each command in a rebuild on miniredis, on which it takes three
// times as long as on Redis and shows the same.
func longOnMiniredis(t *testing.T) {
	t.Helper()
	if strings.HasSuffix(t.Name(), "/miniredis") && os.Getenv("SCOREBOARD_PROOF") != "1" {
		t.Skip("long on miniredis: SCOREBOARD_PROOF=1 runs it")
	}
}

// flush removes everything from all servers.
func (r rig) flush(t testing.TB) {
	t.Helper()
	flush := func(ctx context.Context, node *redis.Client) error { return node.FlushDB(ctx).Err() }
	var err error
	switch shared := r.rdb.(type) {
	case *redis.ClusterClient:
		err = shared.ForEachMaster(ctx, flush)
	case *redis.Client:
		err = flush(ctx, shared)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// onlyKeysOf requires that no key is left of other partitions than those of b, nor of shadows.
func (r rig) onlyKeysOf(t testing.TB, b *scoreboard.Board, what string) {
	t.Helper()
	for _, key := range r.allKeys(t) {
		if strings.Contains(key, "/") && !strings.Contains(key, fmt.Sprintf("/%d/", b.Partitions)) ||
			strings.Contains(key, "shadow") {
			t.Errorf("%s: key %s is left", what, key)
		}
	}
}

// TestRebuildKilledAnywhere kills a process that gives a board other partitions, before
// each of its commands. Another one goes on with the board, whose partitions are then not
// changed after all: no change is lost, and no key is left.
func TestRebuildKilledAnywhere(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		longOnMiniredis(t)
		for _, change := range [][2]int{{1, 2}, {2, 3}, {3, 1}, {2, 2}} {
			victim := r.process(t)
			killed := 0
			for done := false; !done; killed++ {
				done = r.killRebuild(t, victim, divided(change[0]), divided(change[1]), killed)
			}
			if killed < 20 {
				t.Errorf("%v: a rebuild was killed before %d commands, want more", change, killed)
			}
		}
	})
}

// killRebuild kills a rebuild of a board before a command, and reports whether it had ended
// before.
func (r rig) killRebuild(t *testing.T, victim *process, from, to *scoreboard.Board, before int) bool {
	t.Helper()
	what := fmt.Sprintf("from %d to %d, killed before command %d", from.Partitions, to.Partitions, before)
	r.flush(t)
	var stored []scoreboard.Change
	for i := range 10 {
		stored = append(stored, change(fmt.Sprintf("user-%d", i), int64(10-i), 1, int64(i)))
	}
	r.warm(t, from, stored...)
	follower := r.another()
	follower.apply(t, stored...)
	victim.Ranking, victim.left = ranking.New(victim.rdb), before
	done := victim.tryRebuild(to, "victim", func() []scoreboard.Change { return slices.Clone(stored) })
	stored[3] = change("user-3", 100, 2, 20)
	notLoaded, err := follower.Apply(ctx, stored[3:4])
	if err != nil {
		t.Fatalf("%s: apply: %v", what, err)
	}
	stored[4] = hidden(change("user-4", 6, 2, 21))
	if _, err := r.Apply(ctx, stored[4:5]); err != nil {
		t.Fatalf("%s: apply: %v", what, err)
	}
	want := "user-3:100 user-0:10 user-1:9 user-2:8 user-5:5 user-6:4 user-7:3 user-8:2 user-9:1"
	for _, reader := range []rig{r, follower, r.another()} {
		top, err := reader.Top(ctx, from)
		switch {
		case errors.Is(err, scoreboard.ErrNotLoaded) && (len(notLoaded) > 0 || from.Partitions == to.Partitions):
		case err != nil:
			t.Errorf("%s: top: %v", what, err)
		case show(top.Entries) != want:
			t.Errorf("%s: the board is %s", what, show(top.Entries))
		}
	}
	r.expireShadows(t)
	maintenance := r.another()
	if err := maintenance.RemoveUnused(ctx, []scoreboard.Board{*from}); err != nil {
		t.Fatalf("%s: remove unused partitions: %v", what, err)
	}
	if s, err := maintenance.Status(ctx, from.ID); err != nil {
		t.Errorf("%s: status: %v", what, err)
	} else if s.Epoch > 0 {
		maintenance.onlyKeysOf(t, divided(s.Partitions), what)
		maintenance.is(t, want)
	}
	maintenance.rebuild(t, from, func() []scoreboard.Change { return stored })
	maintenance.is(t, want)
	maintenance.onlyKeysOf(t, from, what+", rebuilt")
	return done
}

// at calls do before the n-th command from now on, and reports whether there was one.
func (p *process) at(n int, do func()) (reached *bool) {
	reached = new(bool)
	p.before = func(redis.Cmder) {
		if n--; n == -1 {
			*reached = true
			do()
		}
	}
	return reached
}

// TestApplierPausedAnywhere stops a process that applies a change, before each of its
// commands, while another one gives the board other partitions. The change is newer than
// what the board is rebuilt from, and not lost.
func TestApplierPausedAnywhere(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		old := []scoreboard.Change{change("alice", 5, 1, 1), change("bob", 4, 1, 1), change("carol", 3, 1, 1)}
		for _, layouts := range [][2]int{{1, 3}, {3, 1}, {3, 2}, {2, 2}} {
			applier, to := r.process(t), divided(layouts[1])
			for n, reached := 0, true; reached; n++ {
				what := fmt.Sprintf("from %d to %d partitions, paused before command %d", layouts[0], layouts[1], n)
				r.flush(t)
				r.warm(t, divided(layouts[0]), old...)
				applier.Ranking = ranking.New(applier.rdb)
				if n%2 == 0 { // it has used the board before
					applier.apply(t, old...)
				}
				if ok, err := r.Claim(ctx, to, "a"); !ok || err != nil {
					t.Fatal(ok, err)
				}
				if err := r.Fill(ctx, to.ID, "a", old); err != nil {
					t.Fatal(err)
				}
				epoch, err := r.Epoch(ctx, to)
				if err != nil {
					t.Fatal(err)
				}
				swap := func() {
					if _, err := r.Swap(ctx, to, "a", snapshot(3, epoch+1)); err != nil {
						t.Errorf("%s: swap: %v", what, err)
					}
				}
				paused := applier.at(n, swap)
				applier.apply(t, change("alice", 1, 2, 2), hidden(change("bob", 4, 2, 2)), change("dora", 9, 1, 2))
				if reached = *paused; !reached {
					swap()
				}
				r.is(t, "dora:9 carol:3 alice:1")
				r.another().is(t, "dora:9 carol:3 alice:1")
				r.onlyKeysOf(t, to, what)
				if t.Failed() {
					t.Fatal(what)
				}
			}
		}
	})
}

// TestChangeAnywhereInRebuild applies a change before each command of a process that gives a
// board other partitions.
func TestChangeAnywhereInRebuild(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		longOnMiniredis(t)
		old := []scoreboard.Change{change("alice", 5, 1, 1), change("bob", 4, 1, 1), change("carol", 3, 1, 1)}
		changes := []scoreboard.Change{
			change("alice", 1, 2, 2), hidden(change("bob", 4, 2, 2)), change("dora", 9, 1, 2),
		}
		for _, layouts := range [][2]int{{1, 3}, {3, 1}, {3, 2}, {2, 2}} {
			rebuilder, to := r.process(t), divided(layouts[1])
			for n, reached := 0, true; reached; n++ {
				what := fmt.Sprintf("from %d to %d partitions, before command %d", layouts[0], layouts[1], n)
				r.flush(t)
				r.warm(t, divided(layouts[0]), old...)
				rebuilder.Ranking = ranking.New(rebuilder.rdb)
				stored := slices.Clone(old)
				paused := rebuilder.at(n, func() {
					stored = append(slices.Clone(changes), old[2])
					notLoaded, err := r.Apply(ctx, changes)
					if err != nil || len(notLoaded) > 0 && layouts[0] != layouts[1] {
						t.Errorf("%s: apply: %v, %v", what, notLoaded, err)
					}
				})
				if !rebuilder.tryRebuild(to, "a", func() []scoreboard.Change { return stored }) {
					t.Errorf("%s: the rebuild failed", what)
				}
				if reached = *paused; reached {
					r.another().is(t, "dora:9 carol:3 alice:1")
				}
				r.onlyKeysOf(t, to, what)
				if t.Failed() {
					t.Fatal(what)
				}
			}
		}
	})
}

// TestRebuilderPausedAnywhere stops a process that gives a board other partitions, before
// each of its commands, until its claims have expired and another process has given the board
// yet other ones.
func TestRebuilderPausedAnywhere(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		longOnMiniredis(t)
		old := []scoreboard.Change{change("alice", 5, 1, 1), change("bob", 4, 1, 1), change("carol", 3, 1, 1)}
		for _, layouts := range [][3]int{{1, 2, 3}, {2, 3, 2}, {2, 1, 3}, {3, 2, 1}, {2, 3, 3}} {
			rebuilder := r.process(t)
			for n, reached := 0, true; reached; n++ {
				what := fmt.Sprintf("partitions %v, paused before command %d", layouts, n)
				r.flush(t)
				r.warm(t, divided(layouts[0]), old...)
				rebuilder.Ranking = ranking.New(rebuilder.rdb)
				stored := slices.Clone(old)
				snapshotOf := func() []scoreboard.Change { return slices.Clone(stored) }
				paused := rebuilder.at(n, func() {
					r.expireShadows(t)
					r.rebuild(t, divided(layouts[2]), snapshotOf)
					stored = append(stored, change("dora", 9, 1, 2))
					r.apply(t, stored[3])
				})
				if !rebuilder.tryRebuild(divided(layouts[1]), "a", snapshotOf) {
					_ = rebuilder.Release(ctx, board.ID, "a")
				}
				if reached = *paused; !reached {
					break
				}
				r.expireShadows(t)
				r.is(t, "dora:9 alice:5 bob:4 carol:3")
				s, err := r.Status(ctx, board.ID)
				if err != nil || s.Partitions == layouts[0] && layouts[0] != layouts[2] {
					t.Errorf("%s: %+v, %v", what, s, err)
				}
				if err := r.RemoveUnused(ctx, []scoreboard.Board{*board}); err != nil {
					t.Error(err)
				}
				r.onlyKeysOf(t, divided(s.Partitions), what)
				if t.Failed() {
					t.Fatal(what)
				}
			}
		}
	})
}

// TestUnusedPartitionsRemovedLate stops a process before it removes the partitions that a board
// was in, until the board is in as many again, which stay.
func TestUnusedPartitionsRemovedLate(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		states := []scoreboard.Change{change("alice", 5, 1, 1), change("bob", 4, 1, 1), change("carol", 3, 1, 1)}
		r.warm(t, divided(2), states...)
		late := r.process(t)
		stopped := false
		late.before = func(cmd redis.Cmder) {
			if !stopped && runs(cmd, late.DiscardHash()) {
				stopped = true
				r.rebuild(t, divided(2), func() []scoreboard.Change { return states })
			}
		}
		late.rebuild(t, divided(3), func() []scoreboard.Change { return states })
		if !stopped {
			t.Fatal("no partition was removed")
		}
		r.is(t, "alice:5 bob:4 carol:3")
		r.onlyKeysOf(t, divided(2), "after a late removal")
		r.rebuild(t, divided(3), func() []scoreboard.Change { return states })
		r.onlyKeysOf(t, divided(3), "in other partitions again")

		// The other rebuild is interrupted, and what it leaves is removed later.
		r.rebuild(t, divided(2), func() []scoreboard.Change { return states })
		stopped = false
		victim := r.process(t)
		victim.fail = func(cmd redis.Cmder) bool { return runs(cmd, victim.BeginHash()) }
		late.before = func(cmd redis.Cmder) {
			if !stopped && runs(cmd, late.DiscardHash()) {
				stopped = true
				if victim.tryRebuild(divided(2), "victim", func() []scoreboard.Change { return states }) {
					t.Error("the rebuild was not interrupted")
				}
			}
		}
		late.rebuild(t, divided(3), func() []scoreboard.Change { return states })
		r.expireShadows(t)
		if err := r.RemoveUnused(ctx, []scoreboard.Board{*divided(3)}); err != nil {
			t.Fatal(err)
		}
		r.is(t, "alice:5 bob:4 carol:3")
		r.onlyKeysOf(t, divided(3), "after an interrupted rebuild")
	})
}

// TestChangeReachesNewLayoutFirst kills a process that applies changes while a board gets other
// partitions. What readers were shown is still there afterwards.
func TestChangeReachesNewLayoutFirst(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		for from, to := range map[int]int{1: 4, 4: 1, 2: 3} {
			r.warm(t, divided(from), change("alice", 5, 1, 1), change("bob", 4, 1, 1))
			if ok, err := r.Claim(ctx, divided(to), "a"); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if err := r.Fill(ctx, board.ID, "a",
				[]scoreboard.Change{change("alice", 5, 1, 1), change("bob", 4, 1, 1)}); err != nil {
				t.Fatal(err)
			}
			victim := r.process(t)
			victim.fail = func(cmd redis.Cmder) bool { return runs(cmd, victim.ForwardHash()) }
			banned := hidden(change("alice", 5, 2, 2))
			if _, err := victim.Apply(ctx, []scoreboard.Change{banned}); err == nil {
				t.Error("a change was applied although the new partitions lack it")
			}
			shown := show(r.top(t).Entries)
			epoch, err := r.Epoch(ctx, divided(to))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Swap(ctx, divided(to), "a", snapshot(2, epoch+1)); err != nil {
				t.Fatal(err)
			}
			if after := show(r.top(t).Entries); after != shown {
				t.Errorf("in %d partitions the board is %q, after %q", to, after, shown)
			}
			r.apply(t, banned)
			r.is(t, "bob:4")
			r.flush(t)
		}
	})
}

// TestMarksOutliveShadows requires that what tells where changes belong does not expire before
// the shadow without which the board cannot be replaced: it would lack the changes of between.
func TestMarksOutliveShadows(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		if r.rdb.PExpireTime(ctx, "none").Err() != nil {
			t.Skip("the stand-in does not tell when keys expire")
		}
		for _, to := range []int{1, 2, 8} {
			r.warm(t, divided(4), change("alice", 5, 1, 1))
			slow := r.process(t)
			slow.before = func(redis.Cmder) { time.Sleep(2 * time.Millisecond) }
			if ok, err := slow.Claim(ctx, divided(to), "a"); !ok || err != nil {
				t.Fatal(ok, err)
			}
			for range 2 {
				last := r.expire(t, r.ShadowKeys(divided(1)))[0]
				if first := slices.Min(r.expire(t, r.ShadowKeys(divided(4)))); first < last {
					t.Errorf("to %d partitions: a claim expires %d ms before the shadow", to, last-first)
				}
				if err := slow.Fill(ctx, board.ID, "a", []scoreboard.Change{change("alice", 5, 1, 1)}); err != nil {
					t.Fatal(err)
				}
			}
			r.flush(t)
		}
	})
}

// expire returns when keys expire, in milliseconds.
func (r rig) expire(t testing.TB, keys []string) []int64 {
	t.Helper()
	var at []int64
	for _, key := range keys {
		n, err := r.rdb.PExpireTime(ctx, key).Result()
		if err != nil || n <= 0 {
			t.Fatalf("key %s expires at %v, %v", key, n, err)
		}
		at = append(at, n.Milliseconds())
	}
	return at
}

// TestDroppedBoardLeavesNoPartitions drops an archived board whose ranking has other partitions
// than the catalog says, and some of an interrupted rebuild.
func TestDroppedBoardLeavesNoPartitions(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		states := []scoreboard.Change{change("alice", 5, 1, 1), change("bob", 4, 1, 1)}
		r.warm(t, divided(2), states...)
		victim := r.process(t)
		victim.fail = func(cmd redis.Cmder) bool { return runs(cmd, victim.BeginHash()) }
		if victim.tryRebuild(divided(3), "victim", func() []scoreboard.Change { return states }) {
			t.Fatal("the rebuild was not interrupted")
		}
		archived := []scoreboard.Board{*divided(1)}
		victim.fail = func(cmd redis.Cmder) bool { return runs(cmd, victim.ForgetHash()) }
		if err := victim.Drop(ctx, &archived[0]); err == nil {
			t.Fatal("the board was dropped by a process that was killed meanwhile")
		}
		for range 2 { // the second call finds nothing
			loaded, err := r.Loaded(ctx, archived)
			if err != nil {
				t.Fatal(err)
			}
			for i := range loaded {
				if err := r.Drop(ctx, &loaded[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, key := range r.allKeys(t) {
			if strings.Contains(key, string(board.ID)) {
				t.Errorf("key %s is left", key)
			}
		}
	})
}
