// Command soak runs two scoreboardd processes on real PostgreSQL, Redis and Apache Kafka for hours, and
// does in each hour of a scaled day what operators do in one: it rotates the signing key and the
// certificate, starts a new season, deploys (in turn an earlier version and this one, if there is an
// earlier one), and archives the ledger. Players write and watch all the time, and Kafka compacts the topic
// of notices. Memory, descriptors, goroutines, tables, Redis and that topic must not grow; at the end,
// every increment must count once.
//
//	go run ./internal/test/soak --duration 2h --earlier /tmp/earlier/scoreboardd
//
// Exit status: 0 all checks passed, 3 some failed, 1 it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
)

// options are the flags.
type options struct {
	duration time.Duration
	rate     int
	players  int
	binary   string
	earlier  string
	out      string
}

func main() {
	var o options
	flag.DurationVar(&o.duration, "duration", 2*time.Hour, "how long: a day of 24 hours, scaled")
	flag.IntVar(&o.rate, "rate", 100, "increments a second")
	flag.IntVar(&o.players, "players", 500, "users who write")
	flag.StringVar(&o.binary, "binary", "bin/scoreboardd", "the daemon to run")
	flag.StringVar(&o.earlier, "earlier", "", "an earlier daemon, which every other deploy gives to the second node")
	flag.StringVar(&o.out, "out", "out/soak", "folder of report.json and report.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := soak(ctx, o)
	if err == nil {
		err = r.write(o.out)
	}
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	case !r.Passed:
		os.Exit(3)
	}
}

// hours are the parts of a run; in each, operators do everything once.
const hours = 24

// run is an installation with its players.
type run struct {
	o      options
	dir    string
	nodes  *cluster.Cluster
	certs  *authority
	play   *players
	report *report

	alone atomic.Bool // the first node is restarted no more
}

// soak starts an installation, runs the day, and checks everything.
func soak(ctx context.Context, o options) (_ *report, err error) {
	if o.duration < 20*time.Second || o.duration > tokenTTL-time.Hour || o.rate < 1 || o.players < 1 {
		return nil, errors.New("--duration must be 20s to 23h, --rate and --players at least 1")
	}
	s := &run{o: o, report: newReport(o)}
	if s.dir, err = os.MkdirTemp("", "soak-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if s.certs, err = newAuthority(s.dir); err != nil {
		return nil, err
	}
	s.nodes, err = cluster.Start(ctx, cluster.Options{
		Dir: s.dir, Binary: o.binary, Roles: []string{"", ""}, Settings: []string{
			"SCOREBOARD_TLS_CERT=" + s.certs.certFile, "SCOREBOARD_TLS_KEY=" + s.certs.keyFile,
			"SCOREBOARD_LEDGER_ARCHIVE=" + filepath.Join(s.dir, "archive"), "SCOREBOARD_LOG_LEVEL=warn",
			"SCOREBOARD_LEDGER_CHECKPOINT_EVENTS=10000",
		},
	})
	if err != nil {
		return nil, err
	}
	defer s.nodes.Close()
	if err := errors.Join(s.shortPartitions(ctx), s.shortSegments(ctx)); err != nil {
		return nil, err
	}
	if s.play, err = s.newPlayers(ctx); err != nil {
		return nil, err
	}
	defer s.play.close()
	return s.report, s.day(ctx)
}

// shortPartitions has partitions of the outbox span a minute instead of an hour, so that they are dropped
// within the run. Those of an hour, which are empty, would overlap them.
func (s *run) shortPartitions(ctx context.Context) error {
	for _, n := range s.nodes.Nodes {
		n.Stop()
	}
	for _, statement := range []string{
		`alter database torture set scoreboard.outbox_span = '1 minute'`,
		`select drop_outbox_partition(c.relname::text) from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'outbox_score_updates'::regclass`,
	} {
		if err := s.sql(ctx, statement); err != nil {
			return err
		}
	}
	for _, n := range s.nodes.Nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	return s.nodes.AwaitReady(ctx, ready)
}

// shortSegments has Kafka compact the topic of notices within the run: it compacts closed segments only,
// which normally span a day.
func (s *run) shortSegments(ctx context.Context) error {
	return s.nodes.ConfigureTopic(ctx, noticesTopic, map[string]string{
		"segment.ms": "10000", "min.cleanable.dirty.ratio": "0.1", "delete.retention.ms": "1000",
	})
}

const noticesTopic = "scoreboard.boards.v1"

// day runs the hours beside the players, and then the checks.
func (s *run) day(ctx context.Context) error {
	playing, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.play.run(playing) }()
	sampled := make(chan error, 1)
	go func() { sampled <- s.sample(playing) }()
	began := time.Now()
	var failed error
	for hour := 0; hour < hours && failed == nil; hour++ {
		if pauseUntil(ctx, began.Add(time.Duration(hour)*s.o.duration/hours)); ctx.Err() != nil {
			break
		}
		failed = s.hour(ctx, hour)
	}
	if failed == nil {
		pauseUntil(ctx, began.Add(s.o.duration))
	}
	end()
	if err := errors.Join(failed, <-ended, <-sampled, ctx.Err()); err != nil {
		return err
	}
	s.report.Seconds = time.Since(began).Seconds()
	return s.check(ctx)
}

func pauseUntil(ctx context.Context, at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// sql runs a statement as the owner of the database.
func (s *run) sql(ctx context.Context, statement string, args ...any) error {
	conn, err := pgx.Connect(ctx, s.nodes.PostgresURL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement, args...)
	return err
}

// number runs a query of one number as the owner of the database.
func (s *run) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	conn, err := pgx.Connect(ctx, s.nodes.PostgresURL())
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	return n, conn.QueryRow(ctx, query, args...).Scan(&n)
}
