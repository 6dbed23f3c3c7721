package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// backlog is how many increments wait: 50,000 in the long tests (make proof).
func backlog() int64 {
	if os.Getenv("SCOREBOARD_PROOF") != "" {
		return 50_000
	}
	return 2_000
}

const (
	backlogWriters = 8
	backlogUsers   = 50
	// A backlog takes no memory of its size: it is read in batches. The race detector multiplies what a
	// process takes, so nothing is checked with it.
	backlogMemory = 128 << 20
	// A hundred a second, on a machine that does much else.
	backlogRate = 100
)

// memory is what a daemon has resident, and had at most, in bytes.
func (d *daemon) memory() (now, peak int64) {
	d.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		d.t.Skipf("the memory of a process cannot be read here: %v", err)
	}
	for line := range bytes.Lines(status) {
		name, rest, _ := strings.Cut(string(line), ":")
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			now = kib << 10
		case name == "VmHWM":
			peak = kib << 10
		}
	}
	return now, peak
}

// raced reports whether the race detector is in the test and in its daemons.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// drained waits until the ranking has so many points. It reports how long that took since began, and how
// much memory the daemon used beyond what it had before.
func (h *harness) drained(d *daemon, c *client.Client, began time.Time, points, before int64) {
	h.t.Helper()
	n := backlog()
	limit := time.Duration(n/backlogRate)*time.Second + time.Minute
	for {
		ctx, cancel := contextFor(10 * time.Second)
		top, err := c.Top(ctx, client.TopQuery{Limit: 100})
		cancel()
		sum := int64(0)
		for _, e := range top.Entries {
			sum += e.Score
		}
		if err == nil && sum == points && !top.Degraded {
			break
		}
		if time.Since(began) > limit {
			h.t.Fatalf("the ranking has %d points of %d after %s (%v)", sum, points, limit, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	_, peak := d.memory()
	h.t.Logf("%d increments were ranked after %s, %.0f a second; resident before %d MiB, at most %d MiB", n,
		took.Round(time.Millisecond), float64(n)/took.Seconds(), before>>20, peak>>20)
	if peak-before > backlogMemory && !raced() {
		h.t.Errorf("the daemon took %d MiB for the backlog, want at most %d", (peak-before)>>20, backlogMemory>>20)
	}
	if sum := h.sql(`select coalesce(sum(score), 0)::bigint from scores`); sum != points {
		h.t.Errorf("PostgreSQL has %d points, want %d", sum, points)
	}
	if n := h.sql(`select count(*) from user_score_histories where delta <> version`); n > 0 {
		h.t.Errorf("%d increments were recorded out of order", n)
	}
	if n := h.sql(`select count(*) from dead_letters`); n > 0 {
		h.t.Errorf("%d changes are dead letters", n)
	}
}

// writeBacklog has some writers call write with increments of users of their own: the delta is the
// number of the increment among those of its user. It returns the points.
func writeBacklog(t *testing.T, write func(writer int, ins []client.Increment) error) (points int64) {
	t.Helper()
	each := backlog() / backlogUsers
	var all sync.WaitGroup
	for writer := range backlogWriters {
		all.Go(func() {
			var ins []client.Increment
			for n := range each {
				for user := writer; user < backlogUsers; user += backlogWriters {
					ins = append(ins, client.Increment{
						User: fmt.Sprintf("user-%02d", user), Delta: n + 1,
						EventID: fmt.Sprintf("event-%d-%d", user, n),
					})
				}
			}
			if err := write(writer, ins); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return each * (each + 1) / 2 * backlogUsers
}

// submitAll submits a batch until all of it is recorded: a slow machine is told that too many increments wait.
func submitAll(c *client.Client, batch []client.Increment) error {
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	for {
		results, err := c.SubmitBatch(ctx, batch)
		if err != nil {
			return err
		}
		failed := slices.IndexFunc(results, func(r client.Result) bool { return r.Err != nil })
		if failed < 0 {
			return nil
		}
		var refused *client.Error
		if err := results[failed].Err; !errors.As(err, &refused) || !refused.Temporary() || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Increments that were recorded while Kafka was down are ranked soon after it is back, in order, and
// without memory that grows with their number. Streams never go back meanwhile.
func TestBacklogOfAKafkaOutage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	kafka := backends.OwnKafka(t)
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "SCOREBOARD_KAFKA_BROKERS=") })
	h.env = append(h.env, "SCOREBOARD_KAFKA_BROKERS="+kafka.Brokers[0],
		"SCOREBOARD_RECONCILE_REPAIR=false") // which would rank some of them sooner
	d := h.start()
	server := h.client(d, "server", auth.ScopeUpdate)
	kafka.Kill()
	began := time.Now()
	points := writeBacklog(t, func(_ int, ins []client.Increment) error {
		for batch := range slices.Chunk(ins, 500) {
			if err := submitAll(server, batch); err != nil {
				return err
			}
		}
		return nil
	})
	t.Logf("recorded without Kafka in %s", time.Since(began).Round(time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		seen := make(map[string]int64)
		for state := range server.Watch(ctx, "", client.WatchOptions{Limit: 100}) {
			for _, e := range state.Entries {
				if e.Score < seen[e.UserID] {
					t.Errorf("a stream shows %s with %d after %d", e.UserID, e.Score, seen[e.UserID])
				}
				seen[e.UserID] = e.Score
			}
		}
	}()
	before, _ := d.memory()
	kafka.Start()
	h.drained(d, server, time.Now(), points, before)
	cancel()
	<-watched
}

// Increments of one board that were accepted for later are recorded in the order of each user, soon
// after there is a process that records them.
func TestBacklogOfAcceptedIncrements(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	accepting := h.start("--roles", "api,relay,projector,gateway,maintenance") // no intake
	before, _ := accepting.memory()                                            // as any idle daemon
	callers := make([]*asyncCaller, backlogWriters)
	for i := range callers {
		callers[i] = h.async(accepting, fmt.Sprint("server-", i), auth.ScopeUpdate)
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		callers[i].http = &http.Client{Transport: transport}
	}
	began := time.Now()
	points := writeBacklog(t, func(writer int, ins []client.Increment) error {
		for i, in := range ins {
			status, what, _ := callers[writer].post(in.User, in.Delta, fmt.Sprintf("e-%d-%d", writer, i))
			if status != http.StatusAccepted {
				return fmt.Errorf("event %d of writer %d: got %d %s, want it accepted", i, writer, status, what)
			}
		}
		return nil
	})
	t.Logf("accepted in %s", time.Since(began).Round(time.Millisecond))
	if n := h.sql(`select count(*) from user_score_histories`); n > 0 {
		t.Errorf("%d increments are recorded already, want none", n)
	}
	reader := h.client(accepting, "reader", "")
	began = time.Now()
	h.drained(h.launch("--roles", "intake"), reader, began, points, before)
}
