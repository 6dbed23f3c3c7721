package main

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func TestReplayRestoresRanking(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.env = append(h.env, "SCOREBOARD_RECONCILE_REPAIR=false") // or the sampler repairs first
	d := h.start()
	root := h.client(d, "root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	began := time.Now().Add(-time.Minute)
	for i, user := range []string{"alice", "bob", "carol"} {
		if _, err := root.Submit(ctx, client.Increment{User: user, Delta: int64(10 - i)}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all to be ranked", topIs(root, shows("1 alice 10", "2 bob 9", "3 carol 8")))
	rdb := backends.RedisClient(t, h.redis.URL)
	// Without these numbers, nothing shows that users are missing.
	if err := rdb.HDel(ctx, "sb:{global}:meta", "members", "states").Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.ZRemRangeByRank(ctx, "sb:{global}:rank", 0, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.HDel(ctx, "sb:{global}:users", "alice").Err(); err != nil {
		t.Fatal(err)
	}
	quiet := func(client.JobLine) {}
	for _, dry := range []bool{true, false} {
		done, err := root.Replay(ctx, client.ReplayRequest{FromTime: &began, DryRun: dry}, quiet)
		if err != nil || done.Changed != 1 || done.Unchanged != 2 || done.DryRun != dry ||
			done.Topic != h.setting("SCOREBOARD_KAFKA_TOPIC") {
			t.Errorf("dry %t: %+v, %v; want only alice", dry, done, err)
		}
	}
	eventually(t, "alice to be back", topIs(root, shows("1 alice 10", "2 bob 9", "3 carol 8")))
	if done, err := root.Replay(ctx, client.ReplayRequest{FromTime: &began}, quiet); err != nil || done.Changed != 0 {
		t.Errorf("replayed again: %+v, %v; want no changes", done, err)
	}
	if done, err := root.Replay(ctx, client.ReplayRequest{DLQ: true, DryRun: true}, quiet); err != nil ||
		done.Records != 0 {
		t.Errorf("dead letters: %+v, %v", done, err)
	}
	offset, partition, ahead := int64(1000), 0, time.Now().Add(time.Hour)
	for name, r := range map[string]client.ReplayRequest{
		"no selection":        {},
		"two selections":      {FromTime: &began, DLQ: true},
		"no partition":        {FromOffset: &offset},
		"offset out of range": {FromOffset: &offset, Partition: &partition},
		"time in the future":  {FromTime: &ahead},
		"unknown topic":       {FromTime: &began, Topic: "gossip"},
	} {
		if _, err := root.Replay(ctx, r, quiet); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%s: %v, want invalid_request", name, err)
		}
	}
	mallory := h.client(d, "mallory", "")
	if _, err := mallory.Replay(ctx, client.ReplayRequest{DLQ: true},
		quiet); wire.CodeOf(err) != wire.CodeForbidden {
		t.Errorf("without the scope: %v, want forbidden", err)
	}
}
