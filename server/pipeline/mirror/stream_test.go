package mirror_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/mirror"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// named names every event after its user.
type named struct{}

func (named) EventTexts(_ context.Context, changes []scoreboard.Change) ([]string, error) {
	names := make([]string, len(changes))
	for i := range changes {
		names[i] = "action-of-" + string(changes[i].User)
	}
	return names, nil
}

const streamKey = "leaderboard:stream"

func newStream(rdb redis.UniversalClient, length int64) *mirror.Stream {
	return mirror.NewStream(mirror.StreamOptions{
		Key: streamKey, Length: length, Retention: time.Hour, Remember: time.Hour,
	}, rdb, named{}, quiet)
}

// An entry has the four fields of specification C. It is added once, whatever is
// written again, and never after a newer one of its user: consumers have no version to
// compare.
func TestStreamHasEachChangeOnce(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		ctx, rdb := t.Context(), backends.RedisClient(t, url)
		s := newStream(rdb, 1000)
		write := func(changes ...scoreboard.Change) {
			t.Helper()
			if n, err := s.Write(ctx, changes); err != nil || n != len(changes) {
				t.Fatalf("wrote %d of %d: %v", n, len(changes), err)
			}
		}
		alice, bob := change("global", "alice", 1), change("global", "bob", 1)
		newer := change("global", "alice", 12)
		write(alice, bob)
		write(alice, bob, newer)
		write(change("global", "alice", 9), newer, bob)
		want := []string{
			"userId alice newScore 1 actionId action-of-alice timestamp 2027-01-15T08:00:00.000001Z",
			"userId bob newScore 1 actionId action-of-bob timestamp 2027-01-15T08:00:00.000001Z",
			"userId alice newScore 12 actionId action-of-alice timestamp 2027-01-15T08:00:00.000012Z",
		}
		// The order of the fields is lost in go-redis's maps.
		entries, err := rdb.Do(ctx, "XRANGE", streamKey, "-", "+").Slice()
		if err != nil || len(entries) != len(want) {
			t.Fatalf("got %v (%v), want %d entries", entries, err, len(want))
		}
		for i, e := range entries {
			var got []string
			for _, field := range e.([]any)[1].([]any) {
				got = append(got, field.(string))
			}
			if text := strings.Join(got, " "); text != want[i] {
				t.Errorf("entry %d: got %s, want %s", i, text, want[i])
			}
		}
		// Every batch size, and trimmed by length.
		var many []scoreboard.Change
		for i := range int64(450) {
			many = append(many, change("global", "carol", i+1))
		}
		if n, err := newStream(rdb, 50).Write(ctx, many); err != nil || n != len(many) {
			t.Fatalf("wrote %d of %d: %v", n, len(many), err)
		}
		last := rdb.XRevRangeN(ctx, streamKey, "+", "-", 1).Val()
		if n := rdb.XLen(ctx, streamKey).Val(); n > 250 || len(last) == 0 || last[0].Values["newScore"] != "450" {
			t.Errorf("%d entries, the last %v, want about 50 and carol's 450", n, last)
		}
	})
}

// Entries do not outlive the retention in an idle stream: they name users.
func TestOldEntriesAreRemoved(t *testing.T) {
	t.Parallel()
	ctx, rdb := t.Context(), backends.RedisClient(t, backends.Redis(t))
	if err := rdb.XAdd(ctx, &redis.XAddArgs{
		Stream: streamKey, ID: "1000-0", Values: []string{"userId", "erased"},
	}).Err(); err != nil {
		t.Fatal(err)
	}
	s := newStream(rdb, 1000)
	if _, err := s.Write(ctx, []scoreboard.Change{change("global", "alice", 1)}); err != nil {
		t.Fatal(err)
	}
	backends.Run(t, s.Run)
	await(t, "the old entry to be removed", func() bool {
		left := rdb.XRange(ctx, streamKey, "-", "+").Val()
		return len(left) == 1 && left[0].Values["userId"] == "alice"
	})
}

// Redis is away for a while: what is written meanwhile arrives, once and in order.
func TestStreamSurvivesRedisOutage(t *testing.T) {
	t.Parallel()
	server := backends.OwnRedis(t)
	rdb := backends.RedisClient(t, server.URL)
	in := make(channel)
	m := mirror.New([]mirror.Feed{{
		Name: "delta", Board: "global", Sources: []mirror.Source{in}, Sink: newStream(rdb, 1000),
	}}, quiet)
	backends.Run(t, m.Run)
	in.send(t, []scoreboard.Record{record(0, change("global", "alice", 1))})
	in.send(t, nil) // the one before is handled
	server.Stop()
	in.send(t, []scoreboard.Record{
		record(1, change("global", "alice", 2)), record(2, change("global", "alice", 3)),
	})
	await(t, "the outage to be reported", func() bool { return m.Problem() != "" })
	server.Start()
	in.send(t, []scoreboard.Record{record(3, change("global", "alice", 4))})
	in.send(t, nil) // the one before is handled
	var got []string
	for _, e := range rdb.XRange(t.Context(), streamKey, "-", "+").Val() {
		got = append(got, e.Values["newScore"].(string))
	}
	if strings.Join(got, " ") != "1 2 3 4" || m.Problem() != "" {
		t.Errorf("got the scores %q and the problem %q, want 1 2 3 4 and none", got, m.Problem())
	}
}

// channel is a source that hands out what is sent to it.
type channel chan []scoreboard.Record

// send waits until the records before are handled.
func (c channel) send(t *testing.T, records []scoreboard.Record) {
	t.Helper()
	select {
	case c <- records:
	case <-time.After(time.Minute):
		t.Fatal("the records before are not handled")
	}
}

func (c channel) Consume(
	ctx context.Context, handle func(context.Context, []scoreboard.Record) (map[int]int64, error),
) error {
	for {
		select {
		case records := <-c:
			if _, err := handle(ctx, records); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
