package projection_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/projection"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

var (
	ctx    = context.Background()
	global = &scoreboard.Board{ID: "global", Order: scoreboard.OrderHighest, Created: time.UnixMicro(1)}
)

// letters collects dead letters.
type letters struct {
	mu      sync.Mutex
	records []*scoreboard.DeadLetter
	reasons []string
	err     error
}

func (l *letters) Add(_ context.Context, letter *scoreboard.DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	l.records, l.reasons = append(l.records, letter), append(l.reasons, letter.Reason)
	return nil
}

// boards are the boards that exist.
type boards map[scoreboard.BoardID]bool

func (b boards) BoardExists(_ context.Context, id scoreboard.BoardID) (bool, error) {
	return b[id], nil
}

// feed is a source that delivers what a test sends to it, one batch at a time.
type feed chan []scoreboard.Record

func (f feed) Consume(
	ctx context.Context, handle func(context.Context, []scoreboard.Record) (map[int]int64, error),
) error {
	for {
		select {
		case records := <-f:
			if _, err := handle(ctx, records); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (feed) Intact(context.Context) bool { return true }

type rig struct {
	*projection.Projection
	ranking *ranking.Ranking
	redis   *backends.RedisServer
	rdb     *redis.Client
	dead    *letters
	source  feed
	rebuilt chan struct{}
}

func open(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		redis: backends.OwnRedis(t), dead: &letters{}, source: make(feed, 64),
		rebuilt: make(chan struct{}, 64),
	}
	r.rdb = backends.RedisClient(t, r.redis.URL, func(o *redis.Options) {
		o.DialTimeout, o.MaxRetries = 200*time.Millisecond, -1
	})
	r.ranking = ranking.New(r.rdb)
	r.Projection = r.restarted()
	if _, err := r.ranking.Claim(ctx, global, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ranking.Swap(ctx, global, "t", &scoreboard.Snapshot{Epoch: 1, AsOf: global.Created}); err != nil {
		t.Fatal(err)
	}
	return r
}

// restarted makes a projection over the same ranking, as after a restart.
func (r *rig) restarted() *projection.Projection {
	return projection.New([]projection.Source{r.source}, r.ranking, boards{"global": true, "lost": true},
		[]projection.DeadLetters{r.dead}, func() { r.rebuilt <- struct{}{} }, nil,
		slog.New(slog.DiscardHandler))
}

func (r *rig) handle(t *testing.T, records ...scoreboard.Record) map[int]int64 {
	t.Helper()
	paused, err := r.Handler(r.source)(ctx, records)
	if err != nil {
		t.Fatal(err)
	}
	return paused
}

func (r *rig) wantTop(t *testing.T, want string) *scoreboard.Top {
	t.Helper()
	top, err := r.ranking.Top(ctx, global)
	if err != nil {
		t.Fatal(err)
	}
	var users []string
	for _, e := range top.Entries {
		users = append(users, string(e.User))
	}
	if got := strings.Join(users, " "); got != want {
		t.Errorf("the board holds %q, want %q", got, want)
	}
	return top
}

func event(user string, score int64, board scoreboard.BoardID) []byte {
	at := time.UnixMicro(1_800_000_000_000_000)
	c := scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: board, User: scoreboard.UserID(user),
		Score: scoreboard.Score(score), Key: -score, Version: 1, Revision: 1, ReachedAt: at, RecordedAt: at,
	}
	return protocol.AppendEvent(nil, &c)
}

func record(offset int64, value []byte) scoreboard.Record {
	return scoreboard.Record{Partition: int(offset) % 2, Offset: offset, Value: value}
}

func TestUnreadableRecordGoesToDeadLetters(t *testing.T) {
	t.Parallel()
	r := open(t)
	with := func(old, changed string) []byte {
		return []byte(strings.Replace(string(event("eve", 9, "global")), old, changed, 1))
	}
	bad := map[string][]byte{
		"decode an event":      []byte("not JSON"),
		"at byte 0":            nil, // a tombstone
		"board nowhere does":   event("mallory", 9, "nowhere"),
		"out of range":         with(`"score":9`, `"score":9007199254740993`),
		"revision and version": with(`"revision":1`, `"revision":0`),
		"decode a heartbeat": []byte(
			`{"schema":1,"type":"heartbeat","shard":3,"as_of":"2026-11-21T00:00:00Z"}`,
		),
		"unexpected data after the JSON object": append(event("eve", 9, "global"), "{}"...),
		"is no longer supported":                with(`"schema":1`, `"schema":0`),
	}
	var records []scoreboard.Record
	offset := int64(0)
	for _, value := range bad {
		user := "user" + string(rune('a'+offset/2))
		records = append(records, record(offset, value), record(offset+1, event(user, 100-offset, "global")))
		offset += 2
	}
	if paused := r.handle(t, records...); len(paused) > 0 {
		t.Errorf("paused %v", paused)
	}
	r.wantTop(t, "usera userb userc userd usere userf userg userh")
	if len(r.dead.records) != len(bad) {
		t.Errorf("%d records went to the dead letters, want %d: %q", len(r.dead.records), len(bad), r.dead.reasons)
	}
	for reason, value := range bad {
		found := false
		for i, letter := range r.dead.records {
			if string(letter.Value) == string(value) {
				found = strings.Contains(r.dead.reasons[i], reason) && letter.Partition == int(letter.Offset)%2
			}
		}
		if !found {
			t.Errorf("no dead letter has the same bytes and a reason with %q: %q", reason, r.dead.reasons)
		}
	}
}

func TestNewerSchemaPausesOnlyItsPartition(t *testing.T) {
	t.Parallel()
	r := open(t)
	newer := []byte(strings.Replace(string(event("later", 9, "global")), `"schema":1`, `"schema":2`, 1))
	paused := r.handle(t, record(10, event("alice", 9, "global")), record(11, event("bob", 8, "global")),
		record(12, newer), record(13, event("carol", 7, "global")), record(14, event("dave", 6, "global")))
	if len(paused) != 1 || paused[0] != 12 {
		t.Errorf("paused %v, want partition 0 from offset 12", paused)
	}
	r.wantTop(t, "alice bob carol")
	if len(r.dead.records) > 0 {
		t.Errorf("dead letters %q: an event with a newer schema is not malformed", r.dead.reasons)
	}
}

func TestFailedDeadLetterIsNotConsumed(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.dead.err = errors.New("dead letters unavailable")
	if _, err := r.Handler(r.source)(ctx, []scoreboard.Record{record(0, []byte("?"))}); err == nil {
		t.Error("a record that was neither applied nor stored in the dead letters counts as consumed")
	}
}

func TestMissingBoardTriggersRebuild(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.handle(t, record(0, event("alice", 5, "lost")), record(1, event("bob", 5, "global")))
	r.wantTop(t, "bob")
	select {
	case <-r.rebuilt:
	default:
		t.Error("no rebuild was triggered")
	}
	if len(r.dead.records) > 0 {
		t.Errorf("dead letters %q: the board exists", r.dead.reasons)
	}
}

// replaced is a source whose log is another one by now.
type replaced struct{ feed }

func (replaced) Intact(context.Context) bool { return false }

// A heartbeat in another log says nothing about the changes that were lost with the one
// before. Changes count in both.
func TestHeartbeatsOfReplacedLog(t *testing.T) {
	t.Parallel()
	r := open(t)
	beat := protocol.AppendHeartbeat(nil, scoreboard.Heartbeat{Shards: 1, Partitions: 1, AsOf: time.Now()})
	for _, s := range []struct {
		source projection.Source
		user   string
		want   int64
	}{{replaced{r.source}, "alice", 0}, {r.source, "bob", 1}} {
		records := []scoreboard.Record{record(0, event(s.user, 5, "global")), record(1, beat)}
		if _, err := r.Handler(s.source)(ctx, records); err != nil {
			t.Fatal(err)
		}
		if n := r.rdb.Exists(ctx, "sb:fresh").Val(); n != s.want {
			t.Errorf("%T: heartbeats recorded: %d, want %d", s.source, n, s.want)
		}
	}
	r.wantTop(t, "alice bob")
}

func TestProjectorKilledBetweenApplyAndCommit(t *testing.T) {
	t.Parallel()
	r := open(t)
	batch := []scoreboard.Record{record(0, event("alice", 9, "global")), record(1, event("bob", 8, "global"))}
	r.handle(t, batch...) // the process dies before it commits the offsets
	before := r.wantTop(t, "alice bob")
	if _, err := r.restarted().Handler(r.source)(ctx, batch); err != nil {
		t.Fatal(err)
	}
	if after := r.wantTop(t, "alice bob"); after.Version != before.Version || after.Epoch != before.Epoch {
		t.Errorf("version %d became %d after changes that were applied already", before.Version, after.Version)
	}
}

func TestRedisOutageLosesNothing(t *testing.T) {
	t.Parallel()
	r := open(t)
	stop := backends.Run(t, r.Run)
	r.source <- []scoreboard.Record{record(0, event("alice", 9, "global"))}
	r.waitForTotal(t, 1)
	r.redis.Stop()
	r.source <- []scoreboard.Record{record(1, event("bob", 8, "global"))}
	r.source <- []scoreboard.Record{record(2, event("carol", 7, "global"))}
	time.Sleep(time.Second)
	r.redis.Start()
	r.waitForTotal(t, 3)
	r.wantTop(t, "alice bob carol")
	stop()
	if len(r.dead.records) > 0 {
		t.Errorf("dead letters %q after an outage, want none", r.dead.reasons)
	}
}

func (r *rig) waitForTotal(t *testing.T, total int64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		top, err := r.ranking.Top(ctx, global)
		if err == nil && top.Total == total {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s: %+v (%v), want %d users", top, err, total)
		}
	}
}
