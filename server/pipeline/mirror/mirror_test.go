package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/mirror"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

// change is the nth change of a user on a board, in which each counts a point.
func change(board scoreboard.BoardID, user string, n int64) scoreboard.Change {
	at := time.UnixMicro(1_800_000_000_000_000 + n).UTC()
	return scoreboard.Change{
		Type: scoreboard.ChangeScore, Event: [16]byte{6: 0x40, 15: byte(n)}, Board: board,
		User: scoreboard.UserID(user), Score: scoreboard.Score(n), Key: -n, Delta: 1, Version: n, Revision: n,
		ReachedAt: at, RecordedAt: at,
	}
}

// record is a change as a transport delivers it.
func record(offset int64, c scoreboard.Change) scoreboard.Record {
	return scoreboard.Record{Topic: "t", Offset: offset, Value: protocol.AppendEvent(nil, &c)}
}

// source hands out records once, and remembers what the handler returned.
type source struct {
	records []scoreboard.Record
	paused  chan map[int]int64
}

func (s source) Consume(
	ctx context.Context, handle func(context.Context, []scoreboard.Record) (map[int]int64, error),
) error {
	paused, err := handle(ctx, s.records)
	if err == nil {
		s.paused <- paused
	}
	<-ctx.Done()
	return nil
}

// sink collects changes. It accepts only some of each batch while it is broken.
type sink struct {
	mu      sync.Mutex
	broken  bool
	accepts int // of a batch, while broken
	got     []string
}

var errAway = errors.New("the backend is away")

func (s *sink) Write(_ context.Context, changes []scoreboard.Change) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := len(changes), error(nil)
	if s.broken {
		n, err = min(n, s.accepts), errAway
		s.accepts = 0
	}
	for _, c := range changes[:n] {
		s.got = append(s.got, fmt.Sprintf("%s/%s/%d=%d", c.Board, c.User, c.Revision, c.Score))
	}
	return n, err
}

func (s *sink) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *sink) repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = false
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// A feed whose backend is away waits, commits nothing, skips nothing and says so. The
// others do not wait for it.
func TestFeedWaitsForItsBackend(t *testing.T) {
	t.Parallel()
	banned, anonymous := change("plain", "1", 3), change("plain", "erased-abc", 1)
	banned.Hidden, anonymous.Hidden = true, true
	records := []scoreboard.Record{
		record(0, change("plain", "1", 1)), record(1, change("global", "1", 1)), record(2, change("plain", "1", 2)),
		{Topic: "t", Offset: 3, Value: []byte("?")},
		{Topic: "t", Offset: 4, Value: protocol.AppendHeartbeat(nil, scoreboard.Heartbeat{
			Shards: 1, Partitions: 1, AsOf: time.Now(),
		})},
		record(5, banned), record(6, anonymous), record(7, change("plain", "2", 1)),
		{Topic: "t", Offset: 8, Value: []byte(`{"schema":99}`)},
		record(9, change("plain", "3", 1)),
	}
	one, all := source{records, make(chan map[int]int64, 1)}, source{records, make(chan map[int]int64, 1)}
	broken, working := &sink{broken: true, accepts: 2}, &sink{}
	m := mirror.New([]mirror.Feed{
		{Name: "one", Board: "plain", Sources: []mirror.Source{one}, Sink: broken},
		{Name: "all", Sources: []mirror.Source{all}, Sink: working},
	}, quiet)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.Collectors()...)
	backends.Run(t, m.Run)
	if paused := <-all.paused; paused[0] != 8 || len(paused) != 1 {
		t.Errorf("paused at %v, want the newer schema at 8", paused)
	}
	want := []string{"plain/1/1=1", "global/1/1=1", "plain/1/2=2", "plain/1/3=3", "plain/erased-abc/1=1", "plain/2/1=1"}
	if got := working.written(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	await(t, "the broken feed to be reported", func() bool { return strings.Contains(m.Problem(), errAway.Error()) })
	time.Sleep(100 * time.Millisecond)
	if len(one.paused) > 0 {
		t.Error("records were committed that the backend did not accept")
	}
	if stalled := gauge(t, registry, "scoreboard_mirror_stalled_seconds", "one"); stalled <= 0 {
		t.Errorf("stalled for %v s, want more than 0", stalled)
	}
	broken.repair()
	if paused := <-one.paused; paused[0] != 8 {
		t.Errorf("paused at %v, want the newer schema at 8", paused)
	}
	want = []string{"plain/1/1=1", "plain/1/2=2", "plain/1/3=0", "plain/2/1=1"}
	if got := broken.written(); !slices.Equal(got, want) {
		t.Errorf("got %q, want each once and in order: %q", got, want)
	}
	if m.Problem() != "" || gauge(t, registry, "scoreboard_mirror_stalled_seconds", "one") != 0 {
		t.Errorf("still reported: %q", m.Problem())
	}
	if n := gauge(t, registry, "scoreboard_mirror_malformed_total", "one"); n != 1 {
		t.Errorf("%v malformed records, want 1", n)
	}
	m.Follow("direct", false)
	if !strings.Contains(m.Problem(), "the transport direct cannot be read") ||
		gauge(t, registry, "scoreboard_mirror_cut_off", "") != 1 {
		t.Errorf("cut off: got %q", m.Problem())
	}
	if m.Follow("kafka", true); m.Problem() != "" {
		t.Errorf("connected again: got %q", m.Problem())
	}
}

// gauge returns the value of a gauge or counter of a feed.
func gauge(t *testing.T, r *prometheus.Registry, name, feed string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (feed == "" || m.GetLabel()[0].GetValue() == feed) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s of feed %q", name, feed)
	return 0
}
