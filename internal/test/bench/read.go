package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// readBench reads boards of an installation.
type readBench struct{ *rig }

// Read measures reads on one large board from the node's cache, from Redis and,
// with Redis stopped, from PostgreSQL; and the memory of many boards.
func Read(ctx context.Context, o Options) error {
	if o.Quick {
		o.Users, o.Boards, o.Duration = 2000, 5, time.Second
	}
	on, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := readBench{on}
	r.printf("%d users, %d boards, %s per measurement\n\n", r.Users, r.Boards, r.Duration)
	if err := r.boardMemory(ctx); err != nil {
		return err
	}
	start := time.Now()
	if err := r.fillScores(ctx, "global", r.Users); err != nil {
		return err
	}
	r.printf("- %d users on the board and in Redis after %s\n", r.Users, time.Since(start).Round(100*time.Millisecond))
	for _, part := range []func(context.Context) error{r.mixed, r.closedReads, r.fallback} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// smallBoard is the number of users on each of many boards.
const smallBoard = 1000

// boardMemory compares the daemon's memory with one board and with many, all of
// which were just read.
func (r readBench) boardMemory(ctx context.Context) error {
	measure := func(boards int) (int64, error) {
		for i := range boards {
			for _, what := range []string{"top", "top?limit=100"} {
				sep := "?"
				if what != "top" {
					sep = "&"
				}
				if err := r.read(ctx, fmt.Sprintf("/v1/leaderboard/%s%sboard=many-%d", what, sep, i)); err != nil {
					return 0, err
				}
			}
			if err := r.read(ctx, fmt.Sprintf("/v1/users/user-%d/rank?board=many-%d", 500+i%500, i)); err != nil {
				return 0, err
			}
		}
		return r.settledMemory(ctx)
	}
	if err := r.fillBoards(ctx, 0, 1); err != nil {
		return err
	}
	one, err := measure(1)
	if err != nil {
		return err
	}
	if err := r.fillBoards(ctx, 1, r.Boards); err != nil {
		return err
	}
	many, err := measure(r.Boards)
	if err != nil {
		return err
	}
	r.printf(
		"- daemon with one board of %d users: %d MiB; with %d such boards, all just read: %d MiB "+
			"(after garbage collection)\n",
		smallBoard,
		one,
		r.Boards,
		many,
	)
	_, err = r.queryInt(ctx, `with deleted as (delete from scores where board_id like 'many-%' returning 1),
    boards as (delete from boards where board_id like 'many-%' returning 1)
select (select count(*) from deleted) + (select count(*) from boards)`)
	return err
}

// settledMemory is the daemon's memory after it has collected garbage and returned
// memory to the system.
func (r readBench) settledMemory(ctx context.Context) (int64, error) {
	for range 2 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.ops+"/debug/pprof/heap?gc=1", nil)
		if err != nil {
			return 0, err
		}
		if err := readResponse(http.DefaultClient, req, ""); err != nil {
			return 0, err
		}
	}
	lowest := residentOf(r.daemon.Process.Pid)
	for began := time.Now(); time.Since(began) < r.settle; time.Sleep(time.Second) {
		lowest = min(lowest, residentOf(r.daemon.Process.Pid))
	}
	return lowest, nil
}

// fillBoards creates the boards many-from to many-(to−1) and waits until they are in
// Redis.
func (r readBench) fillBoards(ctx context.Context, from, to int) error {
	_, err := r.queryInt(ctx, fmt.Sprintf(`with made as (
    insert into boards (board_id, family_id, mode)
    select 'many-' || b, 'many-' || b, 'increment' from generate_series(%d, %d) b returning 1
), scored as (
    insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
    select 'user-' || u, 'many-' || b, s, -s, 1, 1, clock_timestamp(), clock_timestamp()
    from generate_series(%d, %d) b, generate_series(0, %d) u,
        lateral (select (u * 7919) %% 100000 as s) score returning 1
) select (select count(*) from made) + (select count(*) from scored)`, from, to-1, from, to-1, smallBoard-1))
	if err != nil {
		return err
	}
	for i := from; i < to; i++ {
		if err := r.awaitRanking(ctx, "many-"+strconv.Itoa(i), smallBoard); err != nil {
			return err
		}
	}
	return nil
}

// fillScores writes users of a board directly to PostgreSQL and rebuilds
// Redis from it. The table is vacuumed and analysed, as by autovacuum.
func (r *rig) fillScores(ctx context.Context, board string, n int) error {
	_, err := r.queryInt(ctx, `with added as (
    insert into users (user_id) select 'user-' || u from generate_series(0, $2) u on conflict do nothing returning 1
), scored as (
    insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
    select 'user-' || u, $1, s, -s, 1, 1, clock_timestamp(), clock_timestamp()
    from generate_series(0, $2) u, lateral (select (u::bigint * 7919) % 1000003 as s) score returning 1
) select (select count(*) from added) + (select count(*) from scored)`, board, n-1)
	if err != nil {
		return err
	}
	if err := r.exec(ctx, `vacuum analyze scores, users`); err != nil {
		return err
	}
	c, err := client.New(r.api, client.Options{Token: r.token})
	if err != nil {
		return err
	}
	defer c.Close()
	for tries := 0; ; tries++ {
		_, err := c.Rebuild(ctx, client.JobRequest{Board: board}, func(client.JobLine) {})
		if err == nil {
			return r.awaitRanking(ctx, board, int64(n))
		}
		// The daemon may have noticed the rows by itself, and rebuild the board already.
		if wire.CodeOf(err) != wire.CodeConflict || tries == 1_000 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// awaitRanking waits until Redis has a number of users of a board.
func (r *rig) awaitRanking(ctx context.Context, board string, users int64) error {
	c, err := client.New(r.api, client.Options{Token: r.token})
	if err != nil {
		return err
	}
	defer c.Close()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		top, err := c.Top(ctx, client.TopQuery{Board: board, Limit: 1})
		if err == nil && !top.Degraded && top.Total == users {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf(
				"board %s has %d of %d users, degraded %q: %w", board, top.Total, users, top.DegradedReason, err,
			)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// read reads a path and requires a 200.
func (r *rig) read(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.api+path, nil)
	if err != nil {
		return err
	}
	return readResponse(http.DefaultClient, req, r.token)
}

// closedReads reads in a closed loop.
func (r readBench) closedReads(ctx context.Context) error {
	r.println("\n| closed loop, 64 connections | reads/s | p50 ms | p99 ms | errors " +
		"| CPU µs per read: daemon / Redis / client | goal |")
	r.println("|---|---|---|---|---|---|---|")
	for _, line := range []struct{ name, before, after, goal string }{
		{"top 10", "/v1/leaderboard/top", "", "25,000/s"},
		{"one user", "/v1/users/user-", "/score", "15,000/s"},
		{"a user with 5 neighbours above and below", "/v1/users/user-", "/rank?k=5", "12,000/s"},
	} {
		path := func() string { return line.before }
		if line.after != "" {
			path = func() string { return line.before + strconv.Itoa(rand.IntN(r.Users)) + line.after }
		}
		before := r.cpus()
		w, err := r.getPaths(ctx, 64, r.Duration, path)
		if err != nil {
			return err
		}
		after := r.cpus()
		n := float64(max(w.requests, 1))
		each := func(d time.Duration) float64 { return float64(d.Microseconds()) / n }
		r.printf(
			"| %s | %.0f | %s | %s | %d | %.0f / %.0f / %.0f | %s |\n",
			line.name, n/w.took.Seconds(), w.p50, w.p99, w.errors, each(after[0]-before[0]),
			each(after[3]-before[3]), each(w.cpu), line.goal,
		)
	}
	return nil
}
