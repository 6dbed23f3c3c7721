package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
)

// bytesUsers are the users of Bytes on a board, each with two events.
const bytesUsers = 200_000

// bytesBench measures what an installation stores and sends.
type bytesBench struct{ *rig }

// Bytes measures what users and increments take in memory, on disk and on the network. Its
// figures do not depend on the speed of the machine.
func Bytes(ctx context.Context, o Options) error {
	n := int64(bytesUsers)
	if o.Quick {
		n = 1000
	}
	on, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := bytesBench{on}
	r.stopDaemon()
	if err := r.seed(ctx, n); err != nil {
		return err
	}
	for _, part := range []func(context.Context, int64) error{
		r.bytesOfUsers, r.bytesOfIncrements, r.bytesOfRequests,
	} {
		if err := part(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// bytesOfUsers measures what a user with a score on one board takes.
func (r bytesBench) bytesOfUsers(ctx context.Context, n int64) error {
	rdb, err := r.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	if err := r.flush(ctx); err != nil {
		return err
	}
	before, err := usedMemory(ctx, rdb)
	if err != nil {
		return err
	}
	c, err := r.startComplete(ctx, pipelineSize{users: n})
	if err != nil {
		return err
	}
	c.Close()
	after, err := usedMemory(ctx, rdb)
	if err != nil {
		return err
	}
	r.println("| what | bytes | of |\n|---|---|---|")
	r.printf("| Redis memory, per user and board | %d | %d users |\n", (after-before)/n, n)
	for _, of := range []struct{ what, tables string }{
		{"PostgreSQL, per user", `relname = 'users'`},
		{"PostgreSQL, per user and board", `relname in ('scores', 'standings')`},
	} {
		size, err := r.queryInt(ctx, tableSize+of.tables)
		if err != nil {
			return err
		}
		r.printf("| %s | %d | |\n", of.what, size/n)
	}
	return nil
}

const tableSize = `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class where relkind = 'r' and `

func usedMemory(ctx context.Context, rdb *redis.Client) (int64, error) {
	info, err := rdb.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
}

// amounts are sizes at a moment, in bytes, except increments.
type amounts struct{ increments, ledger, outbox, wal, images, kafka int64 }

func (r bytesBench) amounts(ctx context.Context) (a amounts, err error) {
	for _, q := range []struct {
		to    *int64
		query string
	}{
		{&a.increments, `select count(*) from user_score_histories`},
		{&a.ledger, tableSize + `relname like 'user_score_histories%'`},
		{&a.outbox, tableSize + `relname like 'outbox_score_updates%'`},
		{&a.wal, `select (pg_current_wal_lsn() - '0/0')::bigint`},
		{&a.images, `select wal_fpi from pg_stat_wal`},
	} {
		if *q.to, err = r.queryInt(ctx, q.query); err != nil {
			return a, err
		}
	}
	a.kafka, err = r.logSize()
	return a, err
}

// logSize is the size of this rig's events in Kafka's folder; 0 if the backends are shared, whose
// folder is not known.
func (r bytesBench) logSize() (total int64, err error) {
	err = filepath.WalkDir(filepath.Join(r.dir, "kafka"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
			return nil
		}
		if err != nil || !strings.HasSuffix(path, ".log") || !strings.Contains(path, "/"+r.prefix+".events-") {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}

// bytesOfIncrements measures what an increment leaves behind.
func (r bytesBench) bytesOfIncrements(ctx context.Context, _ int64) error {
	if _, err := r.post(ctx, 64, r.warm/10); err != nil { // users and pages that later increments find
		return err
	}
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	if err := r.exec(ctx, `checkpoint`); err != nil {
		return err
	}
	before, err := r.amounts(ctx)
	if err != nil {
		return err
	}
	if _, err := r.post(ctx, 64, 2*r.timed); err != nil {
		return err
	}
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	after, err := r.amounts(ctx)
	if err != nil {
		return err
	}
	n := after.increments - before.increments
	if n == 0 {
		return errors.New("no increment was recorded")
	}
	r.printf("| PostgreSQL ledger with its indexes, per increment | %d | %d increments of 64 connections |\n",
		(after.ledger-before.ledger)/n, n)
	r.printf("| PostgreSQL outbox with its indexes, per increment | %d | |\n", (after.outbox-before.outbox)/n)
	r.printf("| PostgreSQL WAL (lz4), per increment | %d | %d images of pages after a checkpoint |\n",
		(after.wal-before.wal)/n, after.images-before.images)
	r.printf("| Kafka log of one replica, per increment | %d | |\n", (after.kafka-before.kafka)/n)
	return nil
}

// bytesOfRequests measures requests and responses on the connection, with their heads.
func (r bytesBench) bytesOfRequests(ctx context.Context, _ int64) error {
	var sent, received atomic.Int64
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return countingConn{conn, &sent, &received}, err
	}}
	defer transport.CloseIdleConnections()
	c, err := client.New(r.api, client.Options{
		Token: r.token, KeyID: r.key.KeyID, KeySecret: r.key.Secret, HTTP: client.NewHTTP(transport),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, of := range []struct {
		what string
		do   func() error
	}{
		{"increment", func() error {
			_, err := c.Submit(ctx, client.Increment{User: "bench-1", Delta: 1})
			return err
		}},
		{"read of ten rows", func() error {
			_, err := c.Top(ctx, client.TopQuery{Limit: 10})
			return err
		}},
	} {
		if err := of.do(); err != nil { // opens the connection
			return err
		}
		sent.Store(0)
		received.Store(0)
		if err := of.do(); err != nil {
			return err
		}
		r.printf("| network, request and response: %s | %d + %d | without TLS |\n",
			of.what, sent.Load(), received.Load())
	}
	frame, err := r.firstFrame(ctx)
	if err != nil {
		return err
	}
	r.printf("| network, a frame of ten rows to a viewer | %d | an event |\n", frame)
	return nil
}

// firstFrame returns the length of the first event with rows of a stream.
func (r bytesBench) firstFrame(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.api+"/v1/realtime/leaderboard?limit=10", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	var event []byte
	for buffer := make([]byte, 4096); ; {
		n, err := res.Body.Read(buffer)
		event = append(event, buffer[:n]...)
		for {
			one, rest, ok := strings.Cut(string(event), "\n\n")
			if !ok {
				break
			}
			if strings.Contains(one, `"top":[{`) {
				return len(one) + 2, nil
			}
			event = []byte(rest)
		}
		if err != nil {
			return 0, fmt.Errorf("read the event stream: %w", err)
		}
	}
}

// countingConn counts what passes.
type countingConn struct {
	net.Conn
	sent, received *atomic.Int64
}

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func (c countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}
