package ranking_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// descending are states of users whose order is that of their numbers.
func descending(n int) []scoreboard.Change {
	list := make([]scoreboard.Change, n)
	for i := range list {
		list[i] = change(fmt.Sprintf("user-%03d", i), int64(10_000-10*i), 1, 1)
	}
	return list
}

// reader is a process that knows how a board is laid out.
func (r rig) reader(t testing.TB, b *scoreboard.Board) *process {
	t.Helper()
	p := r.process(t)
	if _, err := p.Top(ctx, b); err != nil {
		t.Fatal(err)
	}
	return p
}

// holdFirst lets the first call of a reader wait until release is called; held is closed when it does.
// It returns the number of commands.
func holdFirst(reader *process) (held chan struct{}, release func(), sent *atomic.Int64) {
	held, released, sent := make(chan struct{}), make(chan struct{}), new(atomic.Int64)
	var once sync.Once
	reader.before = func(redis.Cmder) {
		sent.Add(1)
		once.Do(func() {
			close(held)
			<-released
		})
	}
	return held, func() { close(released) }, sent
}

// TestReadsBesideHeartbeatsAndMerges records a heartbeat and applies a change before every
// command of a read: each read still gets along without a second attempt.
func TestReadsBesideHeartbeatsAndMerges(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(8)
		r.warm(t, b, descending(200)...)
		reader := r.process(t)
		revision, sent := int64(1), 0
		reader.before = func(redis.Cmder) {
			sent++
			revision++
			r.apply(t, change("user-000", 20_000+revision, revision, revision))
			beats := []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: time.Now()}}
			if err := r.RecordHeartbeats(ctx, beats); err != nil {
				t.Error(err)
			}
		}
		if _, err := reader.Top(ctx, b); err != nil { // learns the layout
			t.Fatal(err)
		}
		for name, read := range map[string]struct {
			commands int // with one attempt
			read     func() error
		}{
			"top": {1 + 8, func() error {
				top, err := reader.Top(ctx, b)
				if err == nil && top.State != scoreboard.StateHealthy {
					err = fmt.Errorf("the state is %s", top.State)
				}
				return err
			}},
			"place": {2 + 8, func() error {
				p, err := reader.Place(ctx, b, "user-150", 3)
				if err == nil && (p.Rank != 151 || len(p.Neighbours) != 7) {
					err = fmt.Errorf("rank %d with %d neighbours", p.Rank, len(p.Neighbours))
				}
				return err
			}},
			"page": {1 + 8, func() error {
				_, err := reader.Page(ctx, b, &scoreboard.Position{Key: -9000}, 10)
				return err
			}},
		} {
			sent = 0
			if err := read.read(); err != nil || sent != read.commands {
				t.Errorf("%s: %d commands, %v; want %d", name, sent, err, read.commands)
			}
		}
	})
}

// TestLookupsShareCalls asks for many users while a first answer is awaited: they are asked
// for at once, and each is told its own place.
func TestLookupsShareCalls(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, descending(300)...)
		reader := r.reader(t, b)
		held, release, sent := holdFirst(reader)
		place := func(i int) {
			user := scoreboard.UserID(fmt.Sprintf("user-%03d", i))
			p, err := reader.Place(ctx, b, user, 2)
			if err != nil {
				t.Error(err)
				return
			}
			var want []scoreboard.UserID
			for near := max(i-2, 0); near <= min(i+2, 299); near++ {
				want = append(want, scoreboard.UserID(fmt.Sprintf("user-%03d", near)))
			}
			var got []scoreboard.UserID
			for _, e := range p.Neighbours {
				got = append(got, e.User)
			}
			if p.Rank != int64(i+1) || p.User != user || !slices.Equal(got, want) {
				t.Errorf("%s is %d beside %v, want %d beside %v", user, p.Rank, got, i+1, want)
			}
		}
		var running sync.WaitGroup
		running.Go(func() { place(0) })
		<-held
		for i := range 300 {
			running.Go(func() { place(i) })
		}
		running.Go(func() {
			users := []scoreboard.UserID{"user-009", "nobody", "user-299"}
			list, err := reader.List(ctx, b, users)
			if err != nil || show(list.Entries) != "user-009:9910 user-299:7010" || list.Entries[1].Rank != 300 ||
				len(list.Missing) != 1 {
				t.Errorf("the list is %+v, %v", list, err)
			}
		})
		running.Go(func() {
			pair := scoreboard.Pair{Score: 9_905} // recorded, but not applied: behind user-009
			ranks, err := reader.Ranks(ctx, b, []scoreboard.UserID{"user-200", "user-201", "nobody"},
				[]*scoreboard.Pair{&pair, nil, nil})
			if err != nil || *ranks[0] != 11 || *ranks[1] != 202 || ranks[2] != nil {
				t.Errorf("the ranks are %v, %v; want 11, 202, none", ranks, err)
			}
		})
		time.Sleep(300 * time.Millisecond) // all of them wait
		release()
		running.Wait()
		// The first alone, then 256 and the rest: three times, not 303.
		if n := sent.Load(); n > 3*(1+4+4) {
			t.Errorf("%d commands, want at most %d", n, 3*(1+4+4))
		}
	})
}

// TestLookupOfHangingServer asks a server that does not answer: callers wait as long as they
// want to and no longer, and the next one is answered when the server is.
func TestLookupOfHangingServer(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, descending(10)...)
		reader := r.reader(t, b)
		var hanging atomic.Bool
		hanging.Store(true)
		reader.hang = func(ctx context.Context) {
			if hanging.Load() {
				<-ctx.Done()
			}
		}
		var running sync.WaitGroup
		for _, wait := range []time.Duration{50 * time.Millisecond, 400 * time.Millisecond} {
			running.Go(func() {
				limited, cancel := context.WithTimeout(ctx, wait)
				defer cancel()
				began := time.Now()
				_, err := reader.Place(limited, b, "user-003", 0)
				took := time.Since(began)
				if !errors.Is(err, context.DeadlineExceeded) || took < wait || took > wait+time.Second {
					t.Errorf("with a deadline of %s: %v after %s", wait, err, took)
				}
			})
		}
		running.Wait()
		hanging.Store(false)
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if p, err := reader.Place(limited, b, "user-003", 0); err != nil || p.Rank != 4 {
			t.Errorf("when the server answers: %+v, %v", p, err)
		}
	})
}

// TestHeadWithoutThoseWhoLeft merges tops after many of the first have left, and after more
// than a merged top of one partition have come: few rows of each partition are then not enough.
func TestHeadWithoutThoseWhoLeft(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		model := make(map[string]scoreboard.Change)
		set := func(what string, list ...scoreboard.Change) {
			t.Helper()
			r.apply(t, list...)
			for _, c := range list {
				model[string(c.User)] = c
			}
			var all []scoreboard.Change
			for _, c := range model {
				if !c.Hidden {
					all = append(all, c)
				}
			}
			slices.SortFunc(all, func(a, b scoreboard.Change) int { return int(b.Score - a.Score) })
			top := r.top(t)
			if len(top.Entries) != scoreboard.TopSize || top.Total != int64(len(all)) {
				t.Fatalf("%s: %d of %d, want 100 of %d", what, len(top.Entries), top.Total, len(all))
			}
			for i, e := range top.Entries {
				if want := all[i]; e.User != want.User || e.Score != want.Score || e.Rank != int64(i+1) {
					t.Fatalf("%s: #%d is %s with %d, want %s with %d",
						what, i+1, e.User, e.Score, want.User, want.Score)
				}
			}
		}
		states := descending(600)
		r.warm(t, b, states...)
		for _, c := range states {
			model[string(c.User)] = c
		}
		set("one comes", change("user-400", 9_995, 2, 2))
		var left []scoreboard.Change
		for i := range 60 {
			left = append(left, hidden(change(fmt.Sprintf("user-%03d", i), int64(10_000-10*i), 2, 2)))
		}
		set("sixty leave", left...)
		var fallen []scoreboard.Change
		for i := 60; i < 200; i++ {
			fallen = append(fallen, change(fmt.Sprintf("user-%03d", i), int64(100+i), 2, 2))
		}
		set("all others fall", fallen...)
		var risen []scoreboard.Change
		partition := r.PartitionKey(b, "user-000")
		for i := 200; i < 600; i++ {
			user := fmt.Sprintf("user-%03d", i)
			if r.PartitionKey(b, scoreboard.UserID(user)) == partition {
				risen = append(risen, change(user, int64(20_000+7*i), 3, 3))
			}
		}
		for i := 0; len(risen) < 2*scoreboard.TopSize; i++ {
			user := fmt.Sprintf("new-%d", i)
			if r.PartitionKey(b, scoreboard.UserID(user)) == partition {
				risen = append(risen, change(user, int64(50_000+i), 1, 3))
			}
		}
		set("two tops of one partition come", risen...)
	})
}

// TestUserWhoMovesWhileRead moves a user before each command of a read in turn: score, rank and
// neighbours are of one moment.
func TestUserWhoMovesWhileRead(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, descending(50)...)
		reader := r.reader(t, b)
		ranks := map[scoreboard.Score]int64{9_705: 31, 9_905: 11} // user-030 between others
		scores := []int64{9_705, 9_905}
		for at := range 2 + 4 {
			revision := int64(at + 2)
			sent := 0
			reader.before = func(redis.Cmder) {
				if sent == at {
					r.apply(t, change("user-030", scores[at%2], revision, revision))
				}
				sent++
			}
			p, err := reader.Place(ctx, b, "user-030", 1)
			if err != nil {
				t.Fatal(err)
			}
			if at == 0 && p.Score != 9_705 {
				t.Errorf("moved before the read: score %d, want 9705", p.Score)
			}
			want, moved := ranks[p.Score]
			if !moved || p.Rank != want || len(p.Neighbours) != 3 || p.Neighbours[1].User != "user-030" ||
				p.Neighbours[0].Score <= p.Score || p.Neighbours[2].Score >= p.Score {
				t.Errorf("moved before command %d: %+v", at, p)
			}
		}
	})
}

// TestLookupsOfThoseWhoHaveGone asks for many ranks until their caller gives up: the next caller
// does not wait for them.
func TestLookupsOfThoseWhoHaveGone(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, descending(10)...)
		reader := r.reader(t, b)
		held, release, sent := holdFirst(reader)
		var running sync.WaitGroup
		place := func() {
			if p, err := reader.Place(ctx, b, "user-003", 0); err != nil || p.Rank != 4 {
				t.Errorf("%+v, %v", p, err)
			}
		}
		running.Go(place)
		<-held
		users := make([]scoreboard.UserID, 5000)
		limited, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := reader.Ranks(limited, b, users, make([]*scoreboard.Pair, len(users))); err == nil {
			t.Error("a call that hangs was answered")
		}
		running.Go(place)
		time.Sleep(50 * time.Millisecond) // it waits
		release()
		running.Wait()
		if n := sent.Load(); n > 2*(1+4+4) {
			t.Errorf("%d commands, want at most %d", n, 2*(1+4+4))
		}
	})
}

// TestLookupBesideOneThatKeepsChanging asks for a user who moves before every answer, which in the end
// is an error. A caller that asks for another user meanwhile is answered first.
func TestLookupBesideOneThatKeepsChanging(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, descending(50)...)
		reader := r.reader(t, b)
		revision, commands := int64(1), 0
		second := make(chan struct{})
		reader.before = func(redis.Cmder) {
			commands++
			revision++
			r.apply(t, change("user-030", 20_000+revision, revision, revision))
			if commands == 1 {
				close(second)
				time.Sleep(50 * time.Millisecond) // the other waits
			}
		}
		moving := make(chan struct{})
		go func() {
			defer close(moving)
			_, err := reader.Place(ctx, b, "user-030", 1)
			if wire.CodeOf(err) != wire.CodeUnavailable {
				t.Errorf("a standing that changed with every read: %v, want unavailable", err)
			}
		}()
		<-second
		p, err := reader.Place(ctx, b, "user-040", 0)
		if err != nil || p.Rank != 41 {
			t.Errorf("another user: %+v, %v", p, err)
		}
		select {
		case <-moving:
			t.Error("the other user's rank came after that of the one who keeps moving")
		default:
		}
		<-moving
	})
}

// TestRowsBesideManyUsers asks for the neighbours of many users: not all at once, for every
// partition returns that many rows.
func TestRowsBesideManyUsers(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, descending(300)...)
		reader := r.reader(t, b)
		held, release, sent := holdFirst(reader)
		var running sync.WaitGroup
		place := func(i int) {
			p, err := reader.Place(ctx, b, scoreboard.UserID(fmt.Sprintf("user-%03d", i)), 50)
			if err != nil || p.Rank != int64(i+1) || len(p.Neighbours) != 101 {
				t.Errorf("%+v, %v", p, err)
			}
		}
		running.Go(func() { place(100) })
		<-held
		for i := range 40 {
			running.Go(func() { place(100 + i) })
		}
		time.Sleep(100 * time.Millisecond) // all of them wait
		release()
		running.Wait()
		if n := sent.Load(); n < 5*(1+1+4) {
			t.Errorf("40 users with 101 rows each were asked for with %d commands", n)
		}
	})
}

// TestMalformedReplies reads replies of which the end is missing, or a field is of another type.
// They are an error, not a panic, which would end the process: no caller's goroutine reads them.
func TestMalformedReplies(t *testing.T) {
	list := []any{}
	for what, of := range map[string]struct {
		parse  func([]any) error
		values []any
	}{
		"partition": {ranking.ParsePartition, []any{
			list, "server", "0", "1", "1", "1", "1", "1", "1", int64(1), int64(1), "state", int64(0), list,
		}},
		"top": {ranking.ParseTop, []any{
			list, "server", "0", "1", "1", "1", "1", "1", "1", "highest", "2", "1 1", "", "3/1 1",
		}},
	} {
		if err := of.parse(of.values); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for i := range of.values {
			if of.parse(of.values[:i]) == nil {
				t.Errorf("%s: %d of %d values were read", what, i, len(of.values))
			}
			wrong := slices.Clone(of.values)
			wrong[i] = 1.5
			// A server without a name, a merged top without rows, and one without a total.
			optional := i == 1 || (i == 11 || i == 13) && what == "top"
			if err := of.parse(wrong); err == nil && !optional {
				t.Errorf("%s: field %d was read as a wrong type", what, i)
			}
		}
	}
}

// TestServerGoesBackBetweenCalls puts a server back to what it held before a heartbeat, after the merged top
// was read and before its partition is: no answer claims to include what came since.
func TestServerGoesBackBetweenCalls(t *testing.T) {
	r := rig{rdb: backends.OwnRedisCluster(t, 3, 0).Client()}
	r.Ranking = ranking.New(r.rdb)
	b := divided(4)
	r.warm(t, b, descending(200)...)
	beat := func(at time.Time) {
		if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: at}}); err != nil {
			t.Fatal(err)
		}
	}
	user := "user-150"
	for i := 151; tagOf(r.PartitionKey(b, scoreboard.UserID(user))) == tagOf(r.HeadKey(b)); i++ {
		user = fmt.Sprintf("user-%03d", i)
	}
	former := time.Now().Add(-time.Minute).Truncate(time.Microsecond)
	beat(former)
	tag := tagOf(r.PartitionKey(b, scoreboard.UserID(user)))
	var kept []string
	for _, key := range r.allKeys(t) {
		if tagOf(key) == tag {
			kept = append(kept, key)
			r.rdb.Copy(ctx, key, key+"-kept", 0, true)
		}
	}
	r.apply(t, change(user, 20_000, 2, 2))
	latest := former.Add(30 * time.Second)
	beat(latest)
	reader := r.process(t)
	if top, err := reader.Top(ctx, b); err != nil || !top.AsOf.Equal(latest) {
		t.Fatalf("before: %+v, %v", top, err)
	}
	first := true
	reader.before = func(cmd redis.Cmder) {
		if first { // the merged top is read now, after which the server goes back
			first = false
			return
		}
		for _, key := range kept {
			if err := r.rdb.Copy(ctx, key+"-kept", key, 0, true).Err(); err != nil {
				t.Error(err)
			}
		}
	}
	top, err := reader.Top(ctx, b)
	if err != nil || top.AsOf.After(former) || top.State == scoreboard.StateHealthy {
		t.Errorf("the merged top: %v as of %s, %s; want as of %s, not healthy", err, top.AsOf, top.State, former)
	}
	p, err := reader.Place(ctx, b, scoreboard.UserID(user), 1)
	if err != nil || p.AsOf.After(former) || p.Score == 20_000 {
		t.Errorf("the place: %+v, %v; want the former one as of %s", p, err, former)
	}
	notLoaded, err := r.Apply(ctx, []scoreboard.Change{change("user-000", 30_000, 2, 3)})
	if err == nil && len(notLoaded) == 0 {
		t.Error("a merged top was merged without changes that it had included")
	}
}

// tagOf is what chooses a key's slot.
func tagOf(key string) string {
	_, tag, _ := strings.Cut(key, "{")
	tag, _, _ = strings.Cut(tag, "}")
	return tag
}

// TestMalformedHeadIsReplaced stores rows that cannot be read: the next change merges all rows.
func TestMalformedHeadIsReplaced(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, descending(150)...)
		if err := r.rdb.HSet(ctx, r.HeadKey(b), "rows", "9 -5 x").Err(); err != nil {
			t.Fatal(err)
		}
		r.apply(t, change("user-120", 9_995, 2, 2))
		if top := r.top(t); len(top.Entries) != scoreboard.TopSize || top.Entries[1].User != "user-120" {
			t.Errorf("the merged top is %s", show(top.Entries))
		}
	})
}
