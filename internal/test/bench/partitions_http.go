package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// partitionsOverHTTP measures the same boards through a daemon with all roles, PostgreSQL and Kafka, whose
// rankings are in the cluster at url.
func (o *Options) partitionsOverHTTP(ctx context.Context, p PartitionOptions, url string) error {
	r, err := newRig(ctx, *o, "SCOREBOARD_REDIS_URL="+url)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	r.printf("\nOver HTTP, beside as many signed increments, each in a request of its own:\n\n")
	r.println("| users | partitions | | per second | p50 ms | p95 ms | p99 ms | max ms |")
	r.println("|---:|---:|---|---:|---:|---:|---:|---:|")
	for _, b := range []struct {
		name              string
		users, partitions int
	}{{"divided", p.Users, p.Partitions}, {"whole", p.Whole, 1}} {
		c, err := client.New(r.api, client.Options{Token: r.token})
		if err != nil {
			return err
		}
		_, err = c.CreateBoard(ctx, client.BoardRequest{Board: b.name, Partitions: &b.partitions})
		c.Close()
		if err != nil {
			return err
		}
		if err := r.fillScores(ctx, b.name, b.users); err != nil {
			return err
		}
		// What follows the writing of millions of rows is not part of the load.
		for _, statement := range []string{`vacuum analyze users`, `vacuum analyze standings`, `checkpoint`} {
			if err := r.exec(ctx, statement); err != nil {
				return err
			}
		}
		time.Sleep(r.settle)
		before, began := r.cpus(), time.Now()
		lines, err := (readBench{r}).readBoard(ctx, b.name, b.users, p.Rate)
		if err != nil {
			return err
		}
		took, after := time.Since(began), r.cpus()
		for i, name := range boardLines {
			l := lines[i]
			r.printf("| %d | %d | %s | %.0f | %.2f | %.2f | %.2f | %.2f |\n", b.users, b.partitions, name,
				l.perSecond(), l.ms(50), l.ms(95), l.ms(99), l.ms(100))
		}
		r.printf("| | | CPU: daemon %.2f, PostgreSQL %.2f, Kafka %.2f of a core | | | | | |\n",
			(after[0]-before[0]).Seconds()/took.Seconds(), (after[1]-before[1]).Seconds()/took.Seconds(),
			(after[2]-before[2]).Seconds()/took.Seconds())
	}
	return nil
}

// boardLines are what readBoard measures.
var boardLines = [4]string{"top 100", "rank", "rank, 5 neighbours on each side", "increment"}

// boardLine is one of them.
type boardLine struct {
	*latencies
	took time.Duration
}

func (l boardLine) perSecond() float64 { return float64(l.h.TotalCount()) / l.took.Seconds() }

// boardCalls is how many reads, and how many increments, may be awaited at a time.
const boardCalls = 256

// readBoard reads a board over HTTP at a rate, in an open loop, beside as many increments of it.
func (r readBench) readBoard(ctx context.Context, board string, users, rate int) (lines [4]boardLine, err error) {
	for i := range lines {
		lines[i].latencies = newLatencies()
	}
	http1 := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * boardCalls}}
	defer http1.CloseIdleConnections()
	game, err := client.New(r.api, client.Options{
		Token: r.token, KeyID: r.key.KeyID, KeySecret: r.key.Secret, Attempts: 1, HTTP: http1,
	})
	if err != nil {
		return lines, err
	}
	defer game.Close()
	user := func() string { return "user-" + strconv.Itoa(rand.IntN(users)) }
	var running sync.WaitGroup
	began := time.Now()
	running.Go(func() {
		openLoop(ctx, rate, boardCalls, r.Duration, func(ctx context.Context, scheduled time.Time) {
			_, err := game.Submit(ctx, client.Increment{User: user(), Delta: 1 + rand.Int64N(9), Board: board})
			lines[3].add(time.Since(scheduled), err)
		})
		lines[3].took = time.Since(began)
	})
	var next atomic.Int64
	openLoop(ctx, rate, boardCalls, r.Duration, func(ctx context.Context, scheduled time.Time) {
		i := next.Add(1) % 3
		path := [...]string{
			"/v1/leaderboard/top?limit=100&board=", "/v1/users/" + user() + "/score?board=",
			"/v1/users/" + user() + "/rank?k=5&board=",
		}[i] + board
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.api+path, nil)
		if err == nil {
			err = readResponse(http1, req, r.token)
		}
		lines[i].add(time.Since(scheduled), err)
	})
	for i := range 3 {
		lines[i].took = time.Since(began)
	}
	running.Wait()
	errs := make([]error, 0, len(lines))
	for i, l := range lines {
		if l.failed > 0 {
			errs = append(errs, fmt.Errorf("%d of %s failed: %w", l.failed, boardLines[i], l.last))
		}
	}
	return lines, errors.Join(errs...)
}
