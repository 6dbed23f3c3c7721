package announce_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/announce"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

var (
	ctx    = context.Background()
	global = scoreboard.Board{ID: "global", Order: scoreboard.OrderHighest, Created: time.UnixMicro(1)}
)

type boards []scoreboard.Board

func (b boards) Ranked(context.Context) ([]scoreboard.Board, error) { return b, nil }

// topic collects notices and their times, and rejects them while unavailable.
type topic struct {
	mu      sync.Mutex
	notices []scoreboard.Notice
	at      []time.Time
	down    bool
}

func (p *topic) Announce(_ context.Context, notices []scoreboard.Notice) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return errors.New("topic unavailable")
	}
	for _, n := range notices {
		p.notices, p.at = append(p.notices, n), append(p.at, time.Now())
	}
	return nil
}

func (p *topic) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.notices)
}

func (p *topic) last() scoreboard.Notice {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.notices) == 0 {
		return scoreboard.Notice{Top: &scoreboard.Top{}}
	}
	return p.notices[len(p.notices)-1]
}

// replaced is a ranking whose reads have another epoch, and whose revisions start over,
// once it is set.
type replaced struct {
	*rig
	epoch atomic.Int64
}

func (r *replaced) Top(ctx context.Context, board *scoreboard.Board) (*scoreboard.Top, error) {
	top, err := r.rig.Top(ctx, board)
	if epoch := r.epoch.Load(); err == nil && epoch != 0 {
		top.Epoch, top.Version = epoch, 1
	}
	return top, err
}

// rig is a ranking with one board.
type rig struct {
	*ranking.Ranking
	revision int64
}

func open(t *testing.T) *rig {
	t.Helper()
	r := &rig{Ranking: ranking.New(backends.RedisClient(t, backends.Redis(t)))}
	if _, err := r.Claim(ctx, &global, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Swap(ctx, &global, "t", &scoreboard.Snapshot{Epoch: 1, AsOf: global.Created}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) score(t *testing.T, user string, score int64) {
	t.Helper()
	r.revision++
	at := time.Now()
	if _, err := r.Apply(ctx, []scoreboard.Change{{
		Type: scoreboard.ChangeScore, Board: global.ID, User: scoreboard.UserID(user),
		Score: scoreboard.Score(score), Key: -score, Version: r.revision, Revision: r.revision,
		ReachedAt: at, RecordedAt: at,
	}}); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, r announce.Ranking, owner string, interval time.Duration, p *topic) (stop func()) {
	t.Helper()
	a := announce.New(announce.Options{
		Owner: owner, Interval: interval, LeaseDuration: 900 * time.Millisecond, SweepInterval: 300 * time.Millisecond,
		RefreshInterval: time.Hour,
	}, r, boards{global}, p, slog.New(slog.DiscardHandler))
	return backends.Run(t, a.Run)
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s: not %s", what)
		}
	}
}

func TestNewMembersAreAnnouncedAtOnce(t *testing.T) {
	t.Parallel()
	r := open(t)
	for i := range 10 {
		r.score(t, "user"+strconv.Itoa(i), 1000+int64(i))
	}
	const interval = time.Hour // longer than the test
	p := &topic{}
	start(t, r, "one", interval, p)
	until(t, "the board announced", func() bool { return p.last().Top.Total == 10 })
	before := p.count()
	for i := range 5 {
		r.score(t, "user3", 2000+int64(i)) // order and scores, not members
		r.score(t, "below", 5+int64(i))    // not even the top ten
	}
	time.Sleep(500 * time.Millisecond) // several sweeps and flushes
	if n := p.count(); n != before {
		t.Fatalf("%d notices within an interval without a new member of the top ten", n-before)
	}
	r.score(t, "newcomer", 5000)
	until(t, "the newcomer announced at once", func() bool { return p.last().Top.Entries[0].User == "newcomer" })
	last := p.last()
	moved := map[scoreboard.UserID]scoreboard.Score{}
	for _, m := range last.Moved {
		moved[m.User] = m.Score
	}
	if moved["user3"] != 2004 || moved["below"] != 9 || moved["newcomer"] != 5000 {
		t.Errorf("moved: %v, want the last score of every user who moved since the previous notice", moved)
	}
	if last.Top.Epoch != 1 || last.Top.Total != 12 || len(last.Top.Entries) != 12 {
		t.Errorf("the notice holds %+v, want the whole top", last.Top)
	}
}

func TestBusyBoardIsAnnouncedOncePerInterval(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.score(t, "alice", 1)
	const interval = 300 * time.Millisecond
	p := &topic{}
	start(t, r, "one", interval, p)
	until(t, "the board announced", func() bool { return p.count() > 0 })
	score := int64(1)
	for began := time.Now(); time.Since(began) < 5*interval; time.Sleep(5 * time.Millisecond) {
		score++
		r.score(t, "alice", score)
	}
	until(t, "the last score announced", func() bool { return int64(p.last().Top.Entries[0].Score) == score })
	for i := 1; i < len(p.at); i++ {
		if gap := p.at[i].Sub(p.at[i-1]); gap < interval-30*time.Millisecond {
			t.Errorf("notice %d came %v after the previous one, want at least %v", i, gap, interval)
		}
	}
}

func TestOutagesLoseNoNotice(t *testing.T) {
	t.Parallel()
	r := open(t)
	first, second := &topic{down: true}, &topic{}
	stop := start(t, r, "first", 50*time.Millisecond, first)
	until(t, "the first to lead", func() bool {
		mine, err := r.Lead(ctx, "other", time.Millisecond)
		return err == nil && !mine
	})
	start(t, r, "second", 50*time.Millisecond, second)
	r.score(t, "alice", 7)
	time.Sleep(200 * time.Millisecond)
	first.mu.Lock()
	first.down = false
	first.mu.Unlock()
	until(t, "announced once the topic is available", func() bool { return first.last().Top.Total == 1 })
	if n := second.count(); n > 0 {
		t.Errorf("%d notices from an announcer without the lease", n)
	}
	stop()
	r.score(t, "bob", 9) // while no announcer may have the lease
	until(t, "announced by the second", func() bool { return second.last().Top.Total == 2 })
}

// Consumers that join later, and the compaction of the topic, need a recent notice of a board that nothing happens to.
func TestIdleBoardIsAnnouncedAgain(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.score(t, "alice", 7)
	p := &topic{}
	a := announce.New(announce.Options{
		Owner: "one", Interval: 20 * time.Millisecond, LeaseDuration: 900 * time.Millisecond,
		SweepInterval: 100 * time.Millisecond, RefreshInterval: 400 * time.Millisecond,
	}, r, boards{global}, p, slog.New(slog.DiscardHandler))
	backends.Run(t, a.Run)
	until(t, "the board announced three times", func() bool { return p.count() >= 3 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if gap := p.at[2].Sub(p.at[1]); gap < 350*time.Millisecond {
		t.Errorf("announced again after %v, want at least 400 ms", gap)
	}
}

// The store and Redis were replaced by older ones: reads stay at a lower epoch.
func TestLowerEpochThatStaysIsAnnounced(t *testing.T) {
	t.Parallel()
	r := &replaced{rig: open(t)}
	r.epoch.Store(100)
	p := &topic{}
	start(t, r, "one", 20*time.Millisecond, p)
	until(t, "the board announced", func() bool { return p.last().Top.Epoch == 100 })
	r.epoch.Store(40)
	until(t, "the lower epoch announced", func() bool { return p.last().Top.Epoch == 40 })
}

// A rebuild from a restored store lowers the revisions of users who moved just before.
func TestMovesAfterRestoreAreAnnounced(t *testing.T) {
	t.Parallel()
	r := open(t)
	for i := range 100 {
		r.score(t, "user"+strconv.Itoa(i), 1000+int64(i))
	}
	p := &topic{}
	start(t, r, "one", time.Hour, p) // moves below the top ten wait
	until(t, "the board announced", func() bool { return p.last().Top.Total == 100 })
	r.revision = 1000
	r.score(t, "below", 7)
	r.revision = 10
	rebuilt := func(epoch int64) {
		t.Helper()
		if _, err := r.Claim(ctx, &global, "t"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Swap(ctx, &global, "t", &scoreboard.Snapshot{Epoch: epoch, AsOf: global.Created}); err != nil {
			t.Fatal(err)
		}
	}
	rebuilt(2)
	r.score(t, "below", 3)
	until(t, "the rebuilt board announced", func() bool {
		last := p.last()
		return last.Top.Epoch == 2 && len(last.Top.Entries) > 0
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	var scores []scoreboard.Score
	for _, n := range p.notices {
		for _, m := range n.Moved {
			if m.User == "below" {
				scores = append(scores, m.Score)
			}
		}
	}
	if len(scores) == 0 || scores[len(scores)-1] != 3 {
		t.Errorf("announced scores of the user: %v, want 3 at last", scores)
	}
}
