package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// readSize is what the read benchmarks are run at. The figures are for the
// defaults; smaller ones show that the harness works.
type readSize struct {
	users, boards int
	timed         time.Duration
}

func readSizeOf() (readSize, error) {
	size := readSize{users: 1_000_000, boards: 1000, timed: timedTime}
	seconds := int(size.timed / time.Second)
	for name, to := range map[string]*int{"BENCH_USERS": &size.users, "BENCH_BOARDS": &size.boards, "BENCH_SECONDS": &seconds} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return size, fmt.Errorf("%s must be a number of at least 1, not %q", name, text)
		}
		*to = n
	}
	size.timed = time.Duration(seconds) * time.Second
	return size, nil
}

// benchRead measures reads on one large board, from the node's memory, from
// Redis and, with Redis stopped, from PostgreSQL; and what many boards weigh.
func benchRead(ctx context.Context) error {
	size, err := readSizeOf()
	if err != nil {
		return err
	}
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	fmt.Printf("%d users, %d boards, %s each\n\n", size.users, size.boards, size.timed)
	if err := r.weighBoards(ctx, size); err != nil {
		return err
	}
	began := time.Now()
	if err := r.fillScores(ctx, size.users); err != nil {
		return err
	}
	fmt.Printf("- %d users on the board and in Redis after %s\n", size.users, time.Since(began).Round(100*time.Millisecond))
	if err := r.mixed(ctx, size); err != nil {
		return err
	}
	if err := r.closedReads(ctx, size); err != nil {
		return err
	}
	return r.fallback(ctx, size)
}

// smallBoard is how many users each of many boards has.
const smallBoard = 1000

// weighBoards compares the daemon's memory with one board and with many, all of
// which were just read.
func (r *rig) weighBoards(ctx context.Context, size readSize) error {
	weigh := func(boards int) (int64, error) {
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
		return r.settled(ctx)
	}
	if err := r.fillBoards(ctx, 0, 1); err != nil {
		return err
	}
	one, err := weigh(1)
	if err != nil {
		return err
	}
	if err := r.fillBoards(ctx, 1, size.boards); err != nil {
		return err
	}
	many, err := weigh(size.boards)
	if err != nil {
		return err
	}
	fmt.Printf("- daemon with one board of %d users: %d MiB; with %d of them, all just read: %d MiB (after a collection: garbage is no board's)\n", smallBoard, one, size.boards, many)
	_, err = r.sql(ctx, `with gone as (delete from scores where board_id like 'many-%' returning 1),
    boards as (delete from boards where board_id like 'many-%' returning 1) select (select count(*) from gone) + (select count(*) from boards)`)
	return err
}

// settled is the daemon's memory once it has collected its garbage and given it
// back.
func (r *rig) settled(ctx context.Context) (int64, error) {
	for range 2 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.ops+"/debug/pprof/heap?gc=1", nil)
		if err != nil {
			return 0, err
		}
		if err := readAnswer(http.DefaultClient, req, ""); err != nil {
			return 0, err
		}
	}
	least := residentOf(r.daemon.Process.Pid)
	for began := time.Now(); time.Since(began) < settleTime; time.Sleep(time.Second) {
		least = min(least, residentOf(r.daemon.Process.Pid))
	}
	return least, nil
}

// settleTime is how long the runtime gets to give memory back.
const settleTime = 20 * time.Second

// fillBoards makes boards many-from to many-(to−1) and waits until Redis holds
// the last.
func (r *rig) fillBoards(ctx context.Context, from, to int) error {
	_, err := r.sql(ctx, fmt.Sprintf(`with made as (
    insert into boards (board_id, family_id, mode) select 'many-' || b, 'many-' || b, 'increment' from generate_series(%d, %d) b returning 1
), scored as (
    insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
    select 'user-' || u, 'many-' || b, s, -s, 1, 1, clock_timestamp(), clock_timestamp()
    from generate_series(%d, %d) b, generate_series(0, %d) u, lateral (select (u * 7919) %% 100000 as s) score returning 1
) select (select count(*) from made) + (select count(*) from scored)`, from, to-1, from, to-1, smallBoard-1))
	if err != nil {
		return err
	}
	for i := from; i < to; i++ {
		if err := r.ranked(ctx, "many-"+strconv.Itoa(i), smallBoard); err != nil {
			return err
		}
	}
	return nil
}

// fillScores puts users on the board global, in PostgreSQL by hand, and rebuilds
// Redis from there. Statistics and visibility are as autovacuum leaves them.
func (r *rig) fillScores(ctx context.Context, n int) error {
	_, err := r.sql(ctx, fmt.Sprintf(`with people as (
    insert into users (user_id) select 'user-' || u from generate_series(0, %d) u on conflict do nothing returning 1
), scored as (
    insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
    select 'user-' || u, 'global', s, -s, 1, 1, clock_timestamp(), clock_timestamp()
    from generate_series(0, %d) u, lateral (select (u::bigint * 7919) %% 1000003 as s) score returning 1
) select (select count(*) from people) + (select count(*) from scored)`, n-1, n-1))
	if err != nil {
		return err
	}
	if err := r.exec(ctx, `vacuum analyze scores`); err != nil {
		return err
	}
	c, err := client.New(r.api, client.Options{Token: r.token})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Rebuild(ctx, client.JobRequest{Board: "global"}, func(client.JobLine) {}); err != nil {
		return err
	}
	return r.ranked(ctx, "global", int64(n))
}

// ranked waits until Redis has so many users of a board.
func (r *rig) ranked(ctx context.Context, board string, users int64) error {
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
			return fmt.Errorf("board %s has %d of %d users, degraded %q: %w", board, top.Total, users, top.DegradedReason, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// read asks once and wants a 200.
func (r *rig) read(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.api+path, nil)
	if err != nil {
		return err
	}
	return readAnswer(http.DefaultClient, req, r.token)
}

// closedReads lets wrk ask in a closed loop.
func (r *rig) closedReads(ctx context.Context, size readSize) error {
	fmt.Println("\n| closed loop, 64 connections | reads/s | p50 ms | p99 ms | errors | CPU µs a read: daemon / Redis / wrk | goal |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, line := range []struct{ name, path, goal string }{
		{"top 10", `"/v1/leaderboard/top"`, "25,000/s"},
		{"one user", fmt.Sprintf(`"/v1/users/user-" .. math.random(0, %d) .. "/score"`, size.users-1), "15,000/s"},
		{"a user with 5 neighbours above and below", fmt.Sprintf(`"/v1/users/user-" .. math.random(0, %d) .. "/rank?k=5"`, size.users-1), "12,000/s"},
	} {
		script := filepath.Join(r.dir, "read.lua")
		if err := os.WriteFile(script, fmt.Appendf(nil, readScript, r.token, line.path), 0o600); err != nil {
			return err
		}
		before := r.cpus()
		w, err := runWrk(ctx, 64, size.timed, script, r.api)
		if err != nil {
			return err
		}
		after := r.cpus()
		n := float64(max(w.requests, 1))
		each := func(d time.Duration) float64 { return float64(d.Microseconds()) / n }
		fmt.Printf("| %s | %.0f | %s | %s | %d | %.0f / %.0f / %.0f | %s |\n", line.name, n/w.took.Seconds(), w.p50, w.p99, w.errors,
			each(after[0]-before[0]), each(after[3]-before[3]), each(w.cpu), line.goal)
	}
	return nil
}

const readScript = `
math.randomseed(os.time())
local headers = { ["Authorization"] = "Bearer %s" }
function request()
    return wrk.format("GET", %s, headers)
end
` + wrkDone
