package realtime_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestLostNoticeIsRepairedWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		r := startInMemory(t, realtime.Options{}, boards)
		w := r.dial("")
		w.frame()
		for i := range 3 {
			lost := time.Now()
			boards.set("global", of{"alice": 1, user(i): 2})
			w.expect(wire.MessageUpdated)
			if took := time.Since(lost); took > time.Second {
				t.Errorf("repaired after %s, want within a second", took)
			}
		}
	})
}

func TestOldNoticesAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		r := startInMemory(t, realtime.Options{Window: time.Millisecond, CheckEvery: time.Hour}, boards)
		w := r.dial("")
		w.frame()
		older := boards.set("global", of{"alice": 1})
		newer := boards.set("global", of{"alice": 2})
		r.hub.Notify(newer)
		if f := w.frame(); f.Version != 3 {
			t.Errorf("version: got %d, want 3", f.Version)
		}
		r.hub.Notify(older)
		late := boards.set("global", of{"alice": 3})
		late.Top.Epoch = 9
		r.hub.Notify(late)
		w.quiet(100 * time.Millisecond)
		if f := r.dial("").frame(); f.Version != 3 {
			t.Errorf("newcomer: got version %d, want 3", f.Version)
		}
	})
}

func TestRebuildWithLowerVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", of{"alice": 1})
		r := startInMemory(t, realtime.Options{}, boards)
		w := r.dial("")
		w.frame()
		boards.edit(func() { boards.boards["global"].epoch, boards.boards["global"].version = 99, 0 })
		r.hub.Notify(boards.set("global", of{"bob": 2}))
		if f := w.frame(); f.Epoch != 99 || f.Version != 1 || len(f.Top) != 2 {
			t.Errorf("got %+v, want epoch 99 at version 1", f)
		}
	})
}

// An old Redis that returns, or a lagging replica, has a lower epoch for a while. No
// connection is shown it. If it stays, the data were restored: connections begin again.
func TestLowerEpochs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", of{"alice": 1})
		r := startInMemory(t, realtime.Options{}, boards)
		w := r.dial("")
		high := w.frame().Epoch
		set := func(epoch int64) {
			boards.edit(func() { boards.boards["global"].epoch = epoch })
		}
		set(high - 1)
		time.Sleep(4 * time.Second)
		set(high)
		time.Sleep(2 * time.Second)
		set(high - 1)
		time.Sleep(4 * time.Second)
		if f := r.dial("").frame(); f.Epoch != high {
			t.Errorf("newcomer: got epoch %d, want %d", f.Epoch, high)
		}
		for f := w.frame(); f.Type != wire.MessageBye; f = w.frame() {
			t.Errorf("got %+v, want nothing but the end", f)
		}
		if code, _ := w.closed(); code != 1012 {
			t.Errorf("closed with %d, want 1012", code)
		}
		synctest.Wait() // the state is replaced right after the connections are ended
		if f := r.dial("").frame(); f.Epoch != high-1 {
			t.Errorf("newcomer: got epoch %d, want that of the restored data", f.Epoch)
		}
	})
}

func TestFamilyMovesToNextInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("daily")
		boards.edit(func() { boards.boards["daily"].instance = "daily:2026-11-21" })
		boards.set("daily", of{"alice": 1})
		r := startInMemory(t, realtime.Options{}, boards)
		w := r.dial("board=daily")
		if f := w.frame(); f.Board != "daily:2026-11-21" {
			t.Errorf("board: got %s, want the instance", f.Board)
		}
		r.hub.Notify(boards.set("daily", of{"alice": 2}))
		w.expect(wire.MessageUpdated)
		boards.edit(func() {
			b := newRanking("daily").boards["daily"]
			b.instance, b.epoch = "daily:2026-11-22", 5
			boards.boards["daily"] = b
		})
		if f := w.frame(); f.Board != "daily:2026-11-22" || len(f.Top) != 0 {
			t.Errorf("got %+v, want the empty next instance", f)
		}
		time.Sleep(250 * time.Millisecond)
		notified := time.Now()
		r.hub.Notify(boards.set("daily", of{"bob": 2}))
		if f := w.frame(); len(f.Top) != 1 || f.Top[0].UserID != "bob" || time.Since(notified) > 150*time.Millisecond {
			t.Errorf("got %+v after %s, want bob's score from its notice", f, time.Since(notified))
		}
	})
}

// A board whose ranking may lack changes, as after a restart of Redis, is marked until it is healthy. Notices
// do not know, so it is read, also while they keep coming.
func TestFramesOfABoardInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", of{"alice": 1})
		boards.state = scoreboard.StateCatchingUp
		r := startInMemory(t, realtime.Options{CheckEvery: 100 * time.Millisecond}, boards)
		w := r.dial("delta=1")
		if f := w.expect(wire.MessageUpdated); f.BoardState != "CATCHING_UP" || f.Degraded || f.Version != 2 {
			t.Errorf("on connect: got %+v, want it catching up", f)
		}
		r.hub.Notify(boards.set("global", of{"alice": 2}))
		if f := w.expect(wire.MessageUpdated); f.BoardState != "CATCHING_UP" || f.Version != 3 {
			t.Errorf("after a notice: got %+v, want it catching up, and whole", f)
		}
		// A client that has the version learns of the state.
		again, events := r.dial("epoch=10&version=3"), r.listen("")
		if f := again.expect(wire.MessageUpdated); f.BoardState != "CATCHING_UP" {
			t.Errorf("on resuming: got %+v, want it catching up", f)
		}
		if e, f := events.next(); e.id != "0:0" || f.BoardState != "CATCHING_UP" {
			t.Errorf("as an event: got %+v, want an id that cannot be resumed from", e)
		}
		boards.edit(func() { boards.state = "" })
		for what, f := range map[string]wire.Message{"first": w.frame(), "second": again.frame()} {
			if f.Type != wire.MessageUpdated || f.BoardState != "" || f.Version != 3 {
				t.Errorf("the %s connection: got %+v, want the same version, healthy", what, f)
			}
		}
		if e, f := events.next(); e.id != "10:3" || f.BoardState != "" {
			t.Errorf("as an event: got %+v, want it healthy", e)
		}
		// A busy board falls into doubt, and the notices do not show it, as those in Kafka.
		inDoubt := make(chan struct{}, 1000)
		go func() {
			for data, err := again.read(); err == nil; data, err = again.read() {
				if decode(t, data).BoardState != "" {
					inDoubt <- struct{}{}
				}
			}
		}()
		score := scoreboard.Score(10)
		notify := func(maxNotices int, until func() bool) {
			for i := 0; i < maxNotices && !until(); i++ {
				score++
				n := boards.set("global", of{"alice": score})
				n.Top.AsOf = time.Now()
				r.hub.Notify(n)
				time.Sleep(20 * time.Millisecond)
			}
		}
		boards.edit(func() { boards.state = scoreboard.StateCatchingUp })
		notify(50, func() bool { return len(inDoubt) > 0 })
		if len(inDoubt) == 0 {
			t.Fatal("no frame says that the busy board is in doubt")
		}
		// While it is, it is read in every interval, so that its end is noticed.
		before, after := 0, 0
		boards.edit(func() { before = boards.reads })
		notify(20, func() bool { return false })
		boards.edit(func() { after = boards.reads })
		if after-before < 4 {
			t.Errorf("%d reads in 400 ms of doubt, want one in every interval", after-before)
		}
	})
}

// A replica that is promoted although it lags has an earlier state of the board. The newest one stays, and is
// marked until the board is rebuilt.
func TestFailoverToALaggingRedis(t *testing.T) {
	t.Parallel()
	for name, lag := range map[string]func(*scores){
		"version": func(s *scores) { s.version -= 2 },
		"epoch":   func(s *scores) { s.epoch-- },
		"content": func(*scores) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				boards := newRanking("global")
				for i := range 4 {
					boards.set("global", of{"alice": scoreboard.Score(i + 1)})
				}
				r := startInMemory(t, realtime.Options{}, boards)
				w := r.dial("delta=1")
				before := w.frame()
				boards.edit(func() {
					lag(boards.boards["global"])
					boards.boards["global"].of["alice"] = 2
					boards.boards["global"].top = boards.boards["global"].ranked()
					boards.state = scoreboard.StateCatchingUp
				})
				f := w.frame()
				if f.Type != wire.MessageUpdated || f.BoardState != "CATCHING_UP" || f.Epoch != before.Epoch ||
					f.Version != before.Version || f.Top[0].Score != 4 {
					t.Errorf("got %+v, want the state of before, catching up", f)
				}
				if n := r.dial("").frame(); n.BoardState != "CATCHING_UP" || n.Version != before.Version {
					t.Errorf("newcomer: got %+v, want the state of before, catching up", n)
				}
				reads := func() (n int) {
					boards.edit(func() { n = boards.reads })
					return n
				}
				n := reads()
				time.Sleep(8 * time.Second)
				if n = reads() - n; n < 8 || n > 11 {
					t.Errorf("%d reads in 8 s of doubt, want one a second", n)
				}
				boards.edit(func() {
					boards.boards["global"].epoch, boards.boards["global"].version = before.Epoch+1, 0
					boards.state = ""
				})
				boards.set("global", of{"alice": 5})
				if f := w.frame(); f.BoardState != "" || f.Epoch != before.Epoch+1 || f.Top[0].Score != 5 {
					t.Errorf("got %+v, want the rebuilt board, healthy", f)
				}
			})
		})
	}
}

func TestDegraded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", of{"alice": 1})
		r := startInMemory(t, realtime.Options{CheckEvery: 100 * time.Millisecond}, boards)
		w := r.dial("")
		w.frame()
		boards.edit(func() { boards.reason = "ranking_unavailable" })
		f := w.frame()
		if !f.Degraded || f.DegradedReason != "ranking_unavailable" || f.Epoch != 10 || f.Version != 2 ||
			len(f.Top) != 1 {
			t.Errorf("got %+v, want the last state, degraded", f)
		}
		boards.set("global", of{"alice": 2}) // as the fallback has it
		if f := w.frame(); !f.Degraded || f.Version != 2 || f.Top[0].Score != 2 {
			t.Errorf("got %+v, want the fallback's rows under the last version", f)
		}
		// A client cannot resume from a degraded state.
		again := r.dial("epoch=10&version=2")
		if f := again.frame(); !f.Degraded {
			t.Errorf("got %+v, want degraded", f)
		}
		boards.edit(func() { boards.reason, boards.err = "", errors.New("backend lost") })
		if f := w.frame(); !f.Degraded || f.DegradedReason != "internal" || f.Top[0].Score != 2 {
			t.Errorf("got %+v, want the last state still", f)
		}
		boards.edit(func() { boards.err = nil })
		if f := w.frame(); f.Degraded || f.Version != 3 || f.Top[0].Score != 2 {
			t.Errorf("got %+v, want healthy at version 3", f)
		}
		if code := r.dial("board=global").frame(); code.Degraded {
			t.Errorf("newcomer: got %+v, want healthy", code)
		}
	})
}

// A Redis that was left for a while and returns may have come to a version in another way. While the board could
// not be read, too, clients have the content that they were shown of it, until the board is rebuilt.
func TestReturnOfAnOldRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", of{"alice": 1})
		r := startInMemory(t, realtime.Options{}, boards)
		w := r.dial("")
		before := w.frame()
		boards.edit(func() { boards.err = errors.New("backend lost") })
		if f := w.frame(); !f.Degraded || f.Version != before.Version {
			t.Errorf("got %+v, want the state of before, degraded", f)
		}
		boards.edit(func() {
			boards.err = nil
			boards.boards["global"].of["alice"] = 9
			boards.boards["global"].top = boards.boards["global"].ranked()
		})
		time.Sleep(3 * time.Second)
		if f := r.dial("").frame(); !f.Degraded || f.Top[0].Score != 1 {
			t.Errorf("newcomer: got %+v, want what the others have, degraded", f)
		}
		boards.edit(func() { boards.boards["global"].epoch++ })
		if f := w.frame(); f.Degraded || f.Epoch != before.Epoch+1 || f.Top[0].Score != 9 {
			t.Errorf("got %+v, want the rebuilt board", f)
		}
	})
}

// A board that cannot be read is not read more often than others, as its backend has trouble enough.
func TestReadsOfAnUnreadableBoard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		r := startInMemory(t, realtime.Options{}, boards)
		w := r.dial("")
		w.frame()
		boards.edit(func() { boards.err = errors.New("backend lost") })
		if f := w.frame(); !f.Degraded {
			t.Errorf("got %+v, want degraded", f)
		}
		before, after := 0, 0
		boards.edit(func() { before = boards.reads })
		time.Sleep(10 * time.Second)
		boards.edit(func() { after = boards.reads })
		if n := after - before; n < 9 || n > 14 {
			t.Errorf("%d reads in 10 s, want about one a second", n)
		}
	})
}

func TestUnreadableBoard(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.err = errors.New("backend lost")
	r := start(t, realtime.Options{}, boards)
	w := r.dial("")
	if f := w.expect(wire.MessageError); f.ErrorCode != "unavailable" {
		t.Errorf("got %+v, want unavailable", f)
	}
	if code, _ := w.closed(); code != 1012 {
		t.Errorf("code: got %d, want 1012, try again later", code)
	}
	boards.edit(func() { boards.err = nil })
	r.dial("").expect(wire.MessageUpdated)
}

func TestResume(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 1})
	r := start(t, realtime.Options{}, boards)
	current := r.dial("epoch=10&version=2")
	ahead := r.dial("epoch=10&version=4") // resumes from a node ahead of this one
	for _, query := range []string{"", "epoch=10&version=1", "epoch=9&version=2", "epoch=11&version=2"} {
		if f := r.dial(query).frame(); f.Version != 2 {
			t.Errorf("%q: got %+v, want a snapshot", query, f)
		}
	}
	r.hub.Notify(boards.set("global", of{"alice": 2}))
	if f := current.frame(); f.Version != 3 {
		t.Errorf("current: got version %d first, want 3", f.Version)
	}
	for _, score := range []int64{3, 4} {
		r.hub.Notify(boards.set("global", of{"alice": 1 + 2*scoreboard.Score(score)}))
	}
	if f := ahead.frame(); f.Version != 5 {
		t.Errorf("ahead: got version %d first, want 5", f.Version)
	}
}

// A forged notice, or a ranking that was written past the server, must not end the daemon.
func TestImpossibleTimesEndNoDaemon(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	r := start(t, realtime.Options{Window: time.Millisecond, CheckEvery: time.Hour}, boards)
	w := r.dial("user=alice")
	w.frame()
	for i, at := range []time.Time{time.UnixMicro(253402351199000000), time.UnixMicro(-99999999999999999)} {
		n := boards.set("global", of{"alice": scoreboard.Score(2 + i)})
		n.Top.UpdatedAt, n.Top.AsOf = at, at
		r.hub.Notify(n)
		for seen := map[string]bool{}; !seen[wire.MessageUpdated]; {
			f := w.frame()
			seen[f.Type] = true
			if !scoreboard.IsWritable(f.TS) {
				t.Errorf("%s of %s", f.Type, f.TS)
			}
		}
	}
}
