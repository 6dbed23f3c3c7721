package realtime_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// screen is what a client shows: snapshots replace it, deltas change it.
type screen struct {
	epoch, version int64
	top            []wire.Entry
}

// show applies a frame as a client does.
func (s *screen) show(t *testing.T, f wire.Message) {
	t.Helper()
	if f.Epoch == s.epoch && f.Version < s.version {
		t.Errorf("version went back from %d to %d", s.version, f.Version)
	}
	switch f.Type {
	case wire.MessageUpdated:
		s.top = f.Top
	case wire.MessageDelta:
		if f.Epoch != s.epoch || f.Base != s.version {
			t.Errorf("delta of base %d:%d, have %d:%d", f.Epoch, f.Base, s.epoch, s.version)
		}
		put := make(map[string]wire.Entry, len(f.Changed))
		for _, e := range f.Changed {
			put[e.UserID] = e
		}
		var top []wire.Entry
		for _, e := range s.top {
			if _, ok := put[e.UserID]; !ok && !slices.Contains(f.Removed, e.UserID) {
				top = append(top, e)
			}
		}
		top = append(top, f.Changed...)
		slices.SortFunc(top, func(a, b wire.Entry) int { return int(a.Rank - b.Rank) })
		s.top = top
	}
	s.epoch, s.version = f.Epoch, f.Version
}

// check compares the screen with the ranking at that version.
func (s *screen) check(t *testing.T, boards *ranking, rows int) {
	t.Helper()
	var want []wire.Entry
	boards.edit(func() { want = wireEntries(boards.tops[[2]int64{s.epoch, s.version}], rows) })
	if !slices.Equal(s.top, want) {
		t.Errorf("at %d:%d: showing\n%v, want\n%v", s.epoch, s.version, s.top, want)
	}
}

func wireEntries(rows []scoreboard.Entry, n int) (out []wire.Entry) {
	for _, e := range rows[:min(n, len(rows))] {
		out = append(out, wire.Entry{Rank: e.Rank, UserID: string(e.User), Score: int64(e.Score)})
	}
	return out
}

// TestVersionsNeverGoBack sends notices to two nodes, each with its own delays,
// duplicates and losses. Clients read with delays, resume on either node and show
// deltas or snapshots. All must end with the ranking's final state, also where equal scores share a
// rank, which does not tell a client their order.
func TestVersionsNeverGoBack(t *testing.T) {
	t.Parallel()
	for name, scores := range map[string]int{"unique ranks": 130_000, "shared ranks": 60} {
		t.Run(name, func(t *testing.T) { neverGoBack(t, scores) })
	}
}

// neverGoBack plays with this many different scores.
func neverGoBack(t *testing.T, scores int) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	boards := newRanking("global")
	boards.boards["global"].shared = scores < 130
	boards.set("global", manyUsers(130))
	o := realtime.Options{Window: 10 * time.Millisecond, MessagesPerMinute: 40 * 60, CheckEvery: 100 * time.Millisecond}
	nodes := []*rig{start(t, o, boards), start(t, o, boards)}

	var wg sync.WaitGroup
	played := make(chan struct{})
	for i := range 16 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() { watch(t, random, nodes, boards, i%2 == 0, i%4 < 2, played) })
	}
	random := rand.New(rand.NewPCG(seed, 99))
	deliver := make([]chan scoreboard.Notice, len(nodes))
	for i, node := range nodes {
		deliver[i] = make(chan scoreboard.Notice, 1000)
		random := rand.New(rand.NewPCG(seed, uint64(100+i)))
		wg.Go(func() {
			var before scoreboard.Notice
			for n := range deliver[i] {
				time.Sleep(time.Duration(random.IntN(4)) * time.Millisecond)
				switch random.IntN(10) {
				case 0: // lost
				case 1:
					node.hub.Notify(n)
					node.hub.Notify(before) // late, and a second time
				default:
					node.hub.Notify(n)
				}
				before = n
			}
		})
	}
	for i := range 500 {
		if i == 250 { // a rebuild
			boards.edit(func() { boards.boards["global"].epoch, boards.boards["global"].version = 20, 1 })
		}
		n := boards.set("global", of{user(random.IntN(130)): scoreboard.Score(random.IntN(scores))})
		for _, d := range deliver {
			d <- n
		}
		time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
	}
	for _, d := range deliver {
		close(d)
	}
	close(played)
	wg.Wait()
}

// watch runs one client until it shows the final state.
func watch(
	t *testing.T,
	random *rand.Rand,
	nodes []*rig,
	boards *ranking,
	delta, hundred bool,
	played <-chan struct{},
) {
	var s screen
	rows := 10
	if hundred {
		rows = 100
	}
	deadline := time.Now().Add(2 * timeout)
	for time.Now().Before(deadline) {
		q := query("limit", strconv.Itoa(rows), "delta", map[bool]string{true: "1"}[delta],
			"epoch", strconv.FormatInt(s.epoch, 10), "version", strconv.FormatInt(s.version, 10))
		node := nodes[random.IntN(len(nodes))]
		//nolint:bodyclose // a handshake leaves nothing to close
		ws, _, err := websocket.DefaultDialer.Dial("ws"+node.http.URL[len("http"):]+"/?"+q, nil)
		if err != nil {
			t.Errorf("dial: %v", err)
			return
		}
		for range 5 + random.IntN(30) {
			_ = ws.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			_, data, err := ws.ReadMessage()
			if err != nil {
				break // quiet: reconnect, possibly to the other node
			}
			s.show(t, decode(t, data))
			s.check(t, boards, rows)
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		}
		_ = ws.Close()
		select {
		case <-played:
			top, _ := boards.ReadTop(t.Context(), "global")
			if slices.Equal(s.top, wireEntries(top.Entries, rows)) {
				return
			}
		default:
		}
	}
	t.Errorf("the final state never came; delta %v, rows %d, last %d:%d", delta, rows, s.epoch, s.version)
}
