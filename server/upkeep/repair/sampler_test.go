package repair_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

func TestSamplerRepairsDrift(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 60)
	r.rebuild(t)
	// Without these numbers, nothing shows that users are missing.
	if err := r.rdb.HDel(ctx, "sb:{global}:meta", "members", "states").Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.rdb.HDel(ctx, "sb:{global}:users", "user33").Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.rdb.ZRemRangeByRank(ctx, "sb:{global}:rank", 0, 2).Err(); err != nil {
		t.Fatal(err)
	}
	// A board that is not loaded must not stop the sampler.
	r.conn.Do(
		t,
		`insert into boards (board_id, family_id, mode, status) values ('gone', 'gone', 'increment', 'archived')`,
	)
	r.conn.Do(t, `insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
select user_id, 'gone', 1, -1, 1, 1, clock_timestamp(), clock_timestamp() from scores where board_id = 'global'`)
	s := repair.NewSampler(
		r.Recovery, r.ranking, true, func() bool { return false }, r.runner("a"), slog.New(slog.DiscardHandler),
	)
	stop := backends.Run(t, s.Run)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		top, err := r.ranking.Top(ctx, &r.board)
		if err != nil {
			t.Fatal(err)
		}
		if state := r.rdb.HGet(ctx, "sb:{global}:users", "user33").Val(); top.Total == 60 && state != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s: %d users are ranked", top.Total)
		}
	}
	stop()
	r.same(t)
	if v := r.check(t, false); v.DifferenceCount > 0 {
		t.Error(fmt.Sprint(v.Differences))
	}
}

// waiting is a board on which 20 users wait for changes, since Kafka does not answer.
func waiting(t *testing.T) *rig {
	t.Helper()
	r := open(t)
	r.record(t, 0, 20)
	r.rebuild(t)
	var at time.Time
	if err := r.conn.QueryRow(ctx, `select clock_timestamp()`).Scan(&at); err != nil {
		t.Fatal(err)
	}
	beats := []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: at}}
	if err := r.ranking.RecordHeartbeats(ctx, beats); err != nil {
		t.Fatal(err)
	}
	r.record(t, 10, 20) // more for ten users, and the first for ten others
	return r
}

// lose has the ranking lose user3, so that nothing but a comparison shows it.
func (r *rig) lose(t *testing.T) {
	t.Helper()
	if err := r.rdb.HDel(ctx, "sb:{global}:meta", "members", "states").Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.rdb.HDel(ctx, "sb:{global}:users", "user3").Err(); err != nil {
		t.Fatal(err)
	}
}

// Changes that wait are no drift, although the sampler ranks them; a user whom the ranking should have
// had is.
func TestChangesThatWaitAreNoDrift(t *testing.T) {
	t.Parallel()
	r := waiting(t)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	s := repair.NewSampler(r.Recovery, r.ranking, true, func() bool { return false }, r.runner("a"), logger)
	await := func(repaired, drifted int64) {
		t.Helper()
		stop := backends.Run(t, s.Run)
		deadline := time.Now().Add(20 * time.Second)
		for s.Status().Repaired < repaired && time.Now().Before(deadline) {
			time.Sleep(50 * time.Millisecond)
		}
		stop()
		if got := s.Status(); got.Repaired != repaired || got.Drifted != drifted {
			t.Errorf("got %+v, want %d repaired and %d drifted", got, repaired, drifted)
		}
	}
	await(20, 0)
	if log.Len() > 0 {
		t.Errorf("the log has %s", &log)
	}
	r.same(t)
	r.lose(t)
	await(21, 1)
	if !strings.Contains(log.String(), "user=user3") {
		t.Errorf("the log has %s", &log)
	}
}

// The same holds for full comparisons; one that an operator asks for reports every user behind.
func TestWaitingUsersAreNoDriftOfAPass(t *testing.T) {
	t.Parallel()
	r := waiting(t)
	if v := r.check(t, false); v.DifferenceCount != 20 || v.Waiting != 0 {
		t.Errorf("a check finds %d differences and %d waiting, want 20 differences", v.DifferenceCount, v.Waiting)
	}
	r.lose(t)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	check := repair.Check{
		Store: r.Recovery, Ranking: r.ranking, Repair: true, Progress: func(*repair.VerifyResult) {},
	}
	p := repair.NewPass(time.Second, check, store.NewCatalog(r.Boards, logger), func() bool { return false },
		r.runner("a"), r.Leases, logger)
	stop := backends.Run(t, p.Run)
	deadline := time.Now().Add(30 * time.Second)
	for p.Status().Repaired < 21 && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	if got := p.Status(); got.Repaired != 21 || got.Drifted != 1 {
		t.Errorf("got %+v, want 21 repaired and 1 drifted", got)
	}
	if text := log.String(); !strings.Contains(text, "user=user3") || strings.Contains(text, "user=user2") {
		t.Errorf("the log has %s", text)
	}
	r.same(t)
}

func TestFullPassRepairsWhatTheSamplerCannotSee(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 60)
	r.rebuild(t)
	// Without these numbers, nothing shows that users are missing.
	if err := r.rdb.HDel(ctx, "sb:{global}:meta", "members", "states").Err(); err != nil {
		t.Fatal(err)
	}
	member := redis.Z{Score: -1e6, Member: "\x00\x00\x00\x00\x00\x00\x00\x01nobody"}
	if err := r.rdb.ZAdd(ctx, "sb:{global}:rank", member).
		Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.rdb.HDel(ctx, "sb:{global}:users", "user33").Err(); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	// Two processes, one change.
	var all sync.WaitGroup
	running, stop := context.WithCancel(ctx)
	var passes []*repair.Pass
	for _, owner := range []string{"a", "b"} {
		check := repair.Check{
			Store:    r.Recovery,
			Ranking:  r.ranking,
			Repair:   true,
			Progress: func(*repair.VerifyResult) {},
		}
		p := repair.NewPass(
			time.Second,
			check,
			store.NewCatalog(r.Boards, quiet),
			func() bool { return false },
			r.runner(owner),
			r.Leases,
			quiet,
		)
		passes = append(passes, p)
		all.Go(func() {
			if err := p.Run(running); err != nil {
				t.Error(err)
			}
		})
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		top, err := r.ranking.Top(ctx, &r.board)
		if err != nil {
			t.Fatal(err)
		}
		if top.Total == 60 && top.Entries[0].User != "nobody" &&
			r.rdb.HExists(ctx, "sb:{global}:users", "user33").Val() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s: %d users are ranked, the first %s", top.Total, top.Entries[0].User)
		}
	}
	stop()
	all.Wait()
	r.same(t)
	// Passes of all processes, also of those that start later, are due by this.
	if ago, ran, err := r.Leases.SinceRun(ctx, "reconcile"); err != nil || !ran || ago > time.Minute {
		t.Errorf("the last pass began %s ago (%t, %v), want it stored", ago, ran, err)
	}
	repaired := 0.0
	for _, p := range passes {
		var m dto.Metric
		if err := p.Collectors()[3].(prometheus.Counter).Write(&m); err != nil {
			t.Fatal(err)
		}
		repaired += m.GetCounter().GetValue()
	}
	if repaired != 2 {
		t.Errorf("%v repairs are counted, want 2", repaired)
	}
}
