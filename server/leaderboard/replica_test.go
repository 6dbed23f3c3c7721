package leaderboard_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// copyAt is a Copy that a test sets.
type copyAt struct {
	atomic.Pointer[scoreboard.Progress] // nil: it does not answer
}

func (c *copyAt) Progress(context.Context) (scoreboard.Progress, error) {
	if p := c.Load(); p != nil {
		return *p, nil
	}
	return scoreboard.Progress{}, errors.New("connection refused")
}

func (c *copyAt) set(asOf time.Time, id string, replica bool) {
	c.Store(&scoreboard.Progress{AsOf: asOf, ID: id, Replica: replica})
}

// headOf is a ranking with one top, or none.
type headOf struct {
	hanging
	top atomic.Pointer[scoreboard.Top]
}

func (h *headOf) Top(_ context.Context, id *scoreboard.Board) (*scoreboard.Top, error) {
	top := h.top.Load()
	if top == nil {
		return nil, errors.New("connection refused")
	}
	found := *top
	found.Board, found.State = id.ID, scoreboard.StateHealthy
	return &found, nil
}

func (h *headOf) set(version int64, asOf time.Time) {
	top := headAt(version)
	top.AsOf = asOf
	h.top.Store(top)
}

// replicaRig is a leaderboard with a replica of the ranking that is watched.
type replicaRig struct {
	*leaderboard.Leaderboard
	replica, primary            copyAt
	replicaRanking, mainRanking headOf
	state                       *leaderboard.Replica
}

// watch calls do with a rig, in a bubble of its own time.
func watch(t *testing.T, do func(r *replicaRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &replicaRig{}
		log := slog.New(slog.DiscardHandler)
		r.state = leaderboard.NewReplica("redis", &r.replica, &r.primary, log)
		r.Leaderboard = leaderboard.New(leaderboard.Options{
			Catalog: oneBoard{}, Ranking: &r.mainRanking, Fallback: plainFallback{},
			RankingReplica: &leaderboard.Replicated[leaderboard.Ranking]{
				Source: func(scoreboard.ProgressCheck) leaderboard.Ranking { return &r.replicaRanking }, State: r.state,
			},
			TriggerRebuild: func() {}, Log: log,
		})
		run, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.state.Run(run) }()
		do(r)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// settle lets a check and the cached top pass.
func settle() { time.Sleep(600 * time.Millisecond) }

// replicaAt sets what the replica says of itself.
func replicaAt(offset time.Duration, id string, replica bool) func(*replicaRig, time.Time) {
	return func(r *replicaRig, now time.Time) { r.replica.set(now.Add(offset), id, replica) }
}

func TestReplicaThatMustNotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set     func(r *replicaRig, now time.Time)
		problem string // "" if it may be read
	}{
		"healthy":         {func(*replicaRig, time.Time) {}, ""},
		"a little behind": {replicaAt(-4*time.Second, "h", true), ""},
		"far behind":      {replicaAt(-9*time.Second, "h", true), "9s behind"},
		"promoted":        {replicaAt(0, "h", false), "promoted"},
		"other history":   {replicaAt(0, "g", true), "another history"},
		"ahead":           {replicaAt(time.Second, "h", true), "ahead"},
		"unknown age":     {func(r *replicaRig, _ time.Time) { r.replica.set(time.Time{}, "h", true) }, "how current"},
		"away":            {func(r *replicaRig, _ time.Time) { r.replica.Store(nil) }, "does not answer"},
		"primary stalled": {func(r *replicaRig, now time.Time) {
			r.primary.set(now.Add(-time.Minute), "h", false)
			r.replica.set(now.Add(-time.Minute), "h", true)
		}, ""},
		"primary away": {func(r *replicaRig, _ time.Time) { r.primary.Store(nil) }, ""},
		"primary away for long": {func(r *replicaRig, now time.Time) {
			r.primary.Store(nil)
			r.replica.set(now.Add(-9*time.Second), "h", true)
		}, "behind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watch(t, func(r *replicaRig) {
				now := time.Now()
				r.primary.set(now, "h", false)
				r.replica.set(now, "h", true)
				r.replicaRanking.set(1, now)
				r.mainRanking.set(2, now)
				settle()
				c.set(r, now)
				settle()
				if got := r.state.Problem(); c.problem == "" && got != "" || !strings.Contains(got, c.problem) {
					t.Errorf("got the problem %q, want %q", got, c.problem)
				}
				want := int64(1)
				if c.problem != "" {
					want = 2
				}
				if top, err := r.Top(ctx, global, 0); err != nil || top.Version != want || top.Degraded != "" {
					t.Errorf("got %+v, %v, want version %d", top, err, want)
				}
			})
		})
	}
}

func TestReplicaIsNotReadBeforeACheck(t *testing.T) {
	t.Parallel()
	watch(t, func(r *replicaRig) { // neither copy answers
		r.replicaRanking.set(1, time.Now())
		r.mainRanking.set(2, time.Now())
		settle()
		if top, err := r.Top(ctx, global, 0); err != nil || top.Version != 2 {
			t.Errorf("got %+v, %v, want the primary's", top, err)
		}
	})
}

// One of several replicas may be behind while the one that was checked is not.
func TestAnswerOfAReplicaThatIsBehind(t *testing.T) {
	t.Parallel()
	watch(t, func(r *replicaRig) {
		now := time.Now()
		r.primary.set(now, "h", false)
		r.replica.set(now, "h", true)
		r.replicaRanking.set(1, now.Add(-time.Minute))
		r.mainRanking.set(2, now)
		settle()
		if top, err := r.Top(ctx, global, 0); err != nil || top.Version != 2 || top.Degraded != "" {
			t.Errorf("got %+v, %v, want the primary's", top, err)
		}
	})
	watch(t, func(r *replicaRig) {
		now := time.Now()
		r.primary.set(now, "h", false)
		r.replica.set(now, "h", true)
		r.replicaRanking.set(1, now.Add(-time.Minute)) // and the primary's ranking does not answer
		settle()
		if top, err := r.Top(ctx, global, 0); err != nil || top.Degraded != "replica_behind" {
			t.Errorf("got %+v, %v, want it degraded: replica_behind", top, err)
		}
	})
}

func TestHeadDoesNotGoBackToAReplicas(t *testing.T) {
	t.Parallel()
	watch(t, func(r *replicaRig) {
		now := time.Now()
		r.primary.set(now, "h", false)
		r.replica.set(now, "h", true)
		r.replicaRanking.set(1, now)
		settle()
		r.mainRanking.set(3, now)
		if top, err := r.Top(ctx, global, 0); err != nil || top.Version != 1 {
			t.Fatalf("got %+v, %v, want version 1", top, err)
		}
		// Who asks for version 3 gets it from the primary.
		if top, err := r.Top(ctx, global, 3); err != nil || top.Version != 3 {
			t.Fatalf("got %+v, %v, want version 3", top, err)
		}
		settle()
		if top, err := r.Top(ctx, global, 0); err != nil || top.Version != 3 || top.Degraded != "" {
			t.Errorf("got %+v, %v, want version 3 still", top, err)
		}
		// It says that it is behind, too, once it is.
		later := time.Now().Add(time.Minute)
		r.primary.set(later, "h", false)
		r.replica.set(later, "h", true)
		r.mainRanking.top.Store(nil)
		settle()
		if top, err := r.Top(ctx, global, 0); err != nil || top.Degraded != "replica_behind" {
			t.Errorf("got %+v, %v, want it degraded: replica_behind", top, err)
		}
	})
}
