package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"
)

// scaleConnections post increments at every size of Scale.
const scaleConnections = 64

// curve is the cost of an increment by the size of one thing.
type curve struct {
	what   string
	points []point
}

type point struct {
	size int
	cost float64 // µs of CPU for each increment, of daemons and backends
}

// Scale measures what an increment costs as an installation grows: by nodes with the role api, by users
// of a board, by rows of the ledger, and by boards. It draws the curves into a file if it is
// given one.
func Scale(ctx context.Context, o Options) error {
	on, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := scaleBench{on}
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	r.println("| by | size | increments/s | daemons | PostgreSQL | Kafka | Redis | sum, CPU µs each |")
	r.println("|---|---|---|---|---|---|---|---|")
	curves := make([]curve, 0, 4)
	for _, part := range []func(context.Context) (curve, error){r.byNodes, r.byUsers, r.byRows, r.byBoards} {
		c, err := part(ctx)
		if err != nil {
			return err
		}
		curves = append(curves, c)
	}
	if o.Picture == "" {
		return nil
	}
	return os.WriteFile(o.Picture, []byte(drawCurves(curves)), 0o644) //nolint:gosec // for everyone to read
}

type scaleBench struct{ *rig }

// measure posts increments to nodes and prints a line.
func (r scaleBench) measure(ctx context.Context, c *curve, size int, nodes []*rig, next func() (string, string)) error {
	if err := r.settle(ctx, nodes); err != nil {
		return err
	}
	ledger, err := r.ledgerRows(ctx)
	if err != nil {
		return err
	}
	before := r.cpu(nodes)
	var mu sync.Mutex
	locked := func() (user, board string) {
		mu.Lock()
		defer mu.Unlock()
		return next()
	}
	results, errs := make([]*loopResult, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			results[i], errs[i] = n.postAs(ctx, scaleConnections/len(nodes), r.bodyRate/len(nodes), r.timed, locked)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var requests, failed int64
	for _, w := range results {
		requests, failed = requests+w.requests, failed+w.errors
	}
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	after := r.cpu(nodes)
	now, err := r.ledgerRows(ctx)
	if err != nil {
		return err
	}
	recorded, sum := float64(now-ledger), 0.0
	if failed > 0 || now-ledger < requests || now-ledger > requests+scaleConnections {
		return fmt.Errorf("%d of %d increments failed, %d rows were added", failed, requests, now-ledger)
	}
	var each [4]float64
	for i := range each {
		each[i] = float64((after[i] - before[i]).Microseconds()) / recorded
		sum += each[i]
	}
	c.points = append(c.points, point{size, sum})
	r.printf("| %s | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n",
		c.what, size, recorded/r.timed.Seconds(), each[0], each[1], each[2], each[3], sum)
	return nil
}

// settle does what the filling left behind, vacuuming of all tables above all, and waits until the backends and the
// daemons' checks are done with it. Else autovacuum would run during some of the measurements.
func (r scaleBench) settle(ctx context.Context, nodes []*rig) error {
	for _, statement := range []string{`vacuum analyze`, `checkpoint`} {
		if err := r.exec(ctx, statement); err != nil {
			return err
		}
	}
	const busy = 800 * time.Millisecond // of CPU time in a second; 20,000 idle boards take nearly as much
	last := 2 * busy
	for tries := 0; last > busy && tries < 60; tries++ {
		before := r.cpu(nodes)
		time.Sleep(time.Second)
		after := r.cpu(nodes)
		last = 0
		for i := range after {
			last += after[i] - before[i]
		}
	}
	return nil
}

func (r scaleBench) ledgerRows(ctx context.Context) (int64, error) {
	return r.queryInt(ctx, `select count(*) from user_score_histories`)
}

// cpu is the CPU time of all daemons and of the backends.
func (r scaleBench) cpu(nodes []*rig) [4]time.Duration {
	cpu := r.cpus()
	for _, n := range nodes {
		if n.daemon != r.daemon {
			cpu[0] += cpuOf(n.daemon.Process.Pid)
		}
	}
	return cpu
}

// byNodes adds nodes with the role api; the first node has all roles.
func (r scaleBench) byNodes(ctx context.Context) (curve, error) {
	c := curve{what: "nodes"}
	nodes := []*rig{r.rig}
	for _, want := range []int{1, 2, 4} {
		for len(nodes) < want {
			n := *r.rig
			n.stops = nil
			n.starts = len(nodes)
			if err := n.startDaemon(ctx, []string{"SCOREBOARD_ROLES=api"}); err != nil {
				return c, err
			}
			r.onStop(n.stop)
			nodes = append(nodes, &n)
		}
		if err := r.measure(ctx, &c, want, nodes, zipfUsers()); err != nil {
			return c, err
		}
	}
	for _, n := range nodes[1:] {
		n.stopDaemon()
	}
	return c, nil
}

// byUsers posts to one board, uniformly for its users.
func (r scaleBench) byUsers(ctx context.Context) (curve, error) {
	c := curve{what: "users"}
	for _, n := range r.scaleUsers {
		board := "users-" + strconv.Itoa(n)
		if err := r.addBoards(ctx, `select $1::text`, board); err != nil {
			return c, err
		}
		if err := r.fillScores(ctx, board, n); err != nil {
			return c, err
		}
		if err := r.measure(ctx, &c, n, []*rig{r.rig}, func() (string, string) {
			return "user-" + strconv.Itoa(rand.IntN(n)), board
		}); err != nil {
			return c, err
		}
	}
	return c, nil
}

// boardUsers post to the boards of byBoards, each to one.
const boardUsers = 20_000

// byBoards posts to many boards, uniformly. Each user has one, so that there are as many standings
// on all of them together, whatever their number is.
func (r scaleBench) byBoards(ctx context.Context) (curve, error) {
	c := curve{what: "boards"}
	have := 0
	for _, n := range r.scaleBoards {
		const names = `select 'many-' || b from generate_series($1::int, $2::int - 1) b`
		if err := r.addBoards(ctx, names, have, n); err != nil {
			return c, err
		}
		have = n
		if err := r.awaitRanking(ctx, "many-"+strconv.Itoa(n-1), 0); err != nil {
			return c, err
		}
		if err := r.measure(ctx, &c, n, []*rig{r.rig}, func() (string, string) {
			user := rand.IntN(boardUsers)
			return "user-" + strconv.Itoa(user), "many-" + strconv.Itoa(user%n)
		}); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (r scaleBench) addBoards(ctx context.Context, names string, args ...any) error {
	return r.exec(ctx, `insert into boards (board_id, family_id, mode)
select name, name, 'increment' from (`+names+`) as added (name)`, args...)
}

// byRows writes rows of other users directly to the ledger, as many as are missing.
func (r scaleBench) byRows(ctx context.Context) (curve, error) {
	c := curve{what: "rows"}
	for _, want := range r.scaleRows {
		for {
			have, err := r.ledgerRows(ctx)
			if err != nil {
				return c, err
			}
			missing := min(int64(want)-have, 500_000) // of one transaction
			if missing <= 0 {
				break
			}
			if err := r.exec(ctx, `insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta,
    applied, previous_score, new_score, version, recorded_at, source)
select 'row-' || i % 1000000, 'global', gen_random_uuid(), '\x00', 1, 1, i / 1000000, i / 1000000 + 1,
    i / 1000000 + 1, now(), 'admin'
from generate_series($1::bigint, $1::bigint + $2::bigint - 1) i`, have, missing); err != nil {
				return c, err
			}
		}
		if err := r.measure(ctx, &c, want, []*rig{r.rig}, zipfUsers()); err != nil {
			return c, err
		}
	}
	return c, nil
}
