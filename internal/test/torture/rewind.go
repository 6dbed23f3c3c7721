package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// rewindFault comes last, because what it loses was acknowledged.
const rewindFault = "postgres goes back in time"

// rewindTime bounds each step of a rewind.
const rewindTime = time.Minute

// The users of a rewind: one is in the copy, one is lost with the data after it, one
// comes after the restore. Nobody else gets near their scores.
const (
	userKept, userLost, userReturned = "rewind-kept", "rewind-lost", "rewind-returned"
	rewindDelta                      = 1_000_000
)

// follower remembers what a client that reconnects for ever has been shown.
type follower struct {
	mu     sync.Mutex
	epoch  int64 // of the newest state; degraded ones do not count
	shown  map[string]bool
	errors []string
}

func (f *follower) show(data []byte) {
	var got frame
	if err := json.Unmarshal(data, &got); err != nil || got.Type != "leaderboard.updated" || got.Degraded ||
		got.Epoch == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if *got.Epoch < f.epoch {
		f.errors = append(f.errors, fmt.Sprintf("epoch %d after %d", *got.Epoch, f.epoch))
		return
	}
	f.epoch, f.shown = *got.Epoch, make(map[string]bool)
	for _, e := range got.Top {
		f.shown[e.UserID] = true
	}
}

// state returns the newest epoch and the users that it shows.
func (f *follower) state() (epoch int64, shown map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.epoch, f.shown
}

// rewind restores PostgreSQL from a copy of its data while clients watch. The board
// must continue for them from the restored state, under a later epoch.
func (r *run) rewind(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	var followers []*follower
	for i, node := range r.cluster.Nodes {
		if !node.Serves("gateway") {
			continue
		}
		f := &follower{}
		followers = append(followers, f)
		watching.Go(func() {
			path := node.URL() + "/v1/realtime/leaderboard?limit=100&board=" + boardArena
			for ; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
				if i%2 == 0 {
					r.followWebSocket(ctx, path, f.show)
				} else {
					r.followSSE(ctx, path, f.show)
				}
			}
		})
	}
	if !r.submitUntilTaken(ctx, userKept) || !r.awaitShown(ctx, followers, "before the copy", 0, userKept, "") {
		return
	}
	adopted, err := r.adoptions(ctx)
	r.must(err)
	r.must(r.cluster.DropStandby(ctx)) // it would be ahead of the copy
	dir := r.cluster.Dir(cluster.Postgres)
	old := filepath.Clean(dir) + ".old"
	r.cluster.KillBackend(cluster.Postgres)
	r.must(exec.CommandContext(ctx, "cp", "-a", dir, old).Run())
	r.must(r.cluster.StartBackend(ctx, cluster.Postgres))
	if !r.submitUntilTaken(ctx, userLost) || !r.awaitShown(ctx, followers, "after the copy", 0, userLost, "") {
		return
	}
	// The history is marked every second: less than that may be lost unseen, and is then
	// repaired by comparison, without a new epoch.
	pause(ctx, 3*time.Second)
	var before int64
	for _, f := range followers {
		epoch, _ := f.state()
		before = max(before, epoch)
	}
	r.log.Note("", "fault: %s", rewindFault)
	r.cluster.KillBackend(cluster.Postgres)
	r.must(os.RemoveAll(dir))
	r.must(os.Rename(old, dir))
	r.must(r.cluster.StartBackend(ctx, cluster.Postgres))
	if !r.submitUntilTaken(ctx, userReturned) ||
		!r.awaitShown(ctx, followers, "after the restore", before, userReturned, userLost) {
		return
	}
	for i, f := range followers {
		for _, text := range f.errors {
			r.log.Violate("rewind", "", "watcher %d was shown %s", i, text)
		}
	}
	if after, err := r.adoptions(ctx); err != nil || after != adopted+1 {
		r.log.Violate("rewind", "", "the audit log has %d adoptions of a history (%v), want %d: one more than before",
			after, err, adopted+1)
	}
}

// adoptions counts the histories that nodes adopted, by the audit log: a failover ends
// in one, too.
func (r *run) adoptions(ctx context.Context) (n int, err error) {
	var audit struct {
		Entries []struct {
			Who string `json:"who"`
		} `json:"entries"`
	}
	server := r.cluster.Nodes[0].URL()
	status, err := r.server.Call(ctx, server, http.MethodGet, "/v1/admin/audit?action=history.adopt", nil, &audit)
	if err != nil || status != http.StatusOK {
		return 0, cmp.Or(err, fmt.Errorf("status %d", status))
	}
	for _, e := range audit.Entries {
		if e.Who != "scoreboardd" {
			return 0, fmt.Errorf("an adoption by %q", e.Who)
		}
	}
	return len(audit.Entries), nil
}

// submitUntilTaken repeats an increment of a user until it is acknowledged.
func (r *run) submitUntilTaken(ctx context.Context, user string) bool {
	in := contract.Increment{UserID: user, Delta: rewindDelta, EventID: user, Board: boardArena}
	var last string
	for end := time.Now().Add(rewindTime); time.Now().Before(end) && ctx.Err() == nil; {
		for _, node := range r.cluster.Nodes {
			if !node.Serves("api") {
				continue
			}
			callCtx, cancel := context.WithTimeout(ctx, attemptTime)
			a, err := r.server.Submit(callCtx, node.URL(), in, false)
			cancel()
			if err == nil && len(a.Receipts) > 0 {
				return true
			}
			last = fmt.Sprintf("status %d %s %v", a.Status, a.Code, err)
		}
		pause(ctx, 50*time.Millisecond)
	}
	r.log.Violate("rewind", user, "not acknowledged within %s: %s", rewindTime, last)
	return false
}

// awaitShown waits until every watcher and every node shows one user and not another,
// under an epoch greater than above.
func (r *run) awaitShown(
	ctx context.Context, followers []*follower, when string, above int64, user, gone string,
) bool {
	var missing []string
	for end := time.Now().Add(rewindTime); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		missing = missing[:0]
		for i, f := range followers {
			if epoch, shown := f.state(); epoch <= above || !shown[user] || shown[gone] {
				missing = append(missing,
					fmt.Sprintf("watcher %d (epoch %d, %t, %t)", i, epoch, shown[user], shown[gone]))
			}
		}
		for _, node := range r.cluster.Nodes {
			if !node.Serves("read") && !node.Serves("api") {
				continue
			}
			callCtx, cancel := context.WithTimeout(ctx, attemptTime)
			top, status, err := r.server.Top(callCtx, node.URL(), boardArena, "", 100)
			cancel()
			shown := make(map[string]bool)
			for _, e := range top.Entries {
				shown[e.UserID] = true
			}
			if err != nil || top.Degraded || top.Epoch == nil || *top.Epoch <= above || !shown[user] || shown[gone] {
				missing = append(missing,
					fmt.Sprintf("node %d (status %d %s, %v)", node.ID, status, top.DegradedReason, err))
			}
		}
		if len(missing) == 0 {
			return true
		}
	}
	r.log.Violate("rewind", "", "%s, %s is not shown, or %q still is, after %s: %s", when, user, gone, rewindTime,
		strings.Join(missing, ", "))
	return false
}
