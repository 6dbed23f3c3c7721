package limit_test

import (
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/limit"
)

// away checks the guarantee without Redis: each bucket admits its burst and no more,
// and only the first requests wait for Redis.
func away(t *testing.T, l *limit.Limiter) {
	t.Helper()
	b := l.Bucket("updates", 10, 10)
	var took []time.Duration
	for user := range 40 {
		admitted := 0
		for range 12 {
			began := time.Now()
			if b.Take(t.Context(), "user"+strconv.Itoa(user)) == 0 {
				admitted++
			}
			took = append(took, time.Since(began))
		}
		if admitted != 10 {
			t.Errorf("user %d: admitted %d, want 10", user, admitted)
		}
	}
	slices.Sort(took)
	if longest := took[len(took)-1]; longest > 200*time.Millisecond {
		t.Errorf("one request waited %s", longest)
	}
	if p95 := took[len(took)*95/100]; p95 > 5*time.Millisecond {
		t.Errorf("p95 of a request is %s, want no timeout in it", p95)
	}
}

func TestRedisNeverAnswers(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	var held []net.Conn
	accepting.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			held = append(held, c)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
		for _, c := range held {
			_ = c.Close()
		}
	})
	away(t, limit.New(connect(t, "redis://"+listener.Addr().String()), time.Now))
}

func TestRedisStopsAndReturns(t *testing.T) {
	t.Parallel()
	server := backends.OwnRedis(t)
	l := limit.New(connect(t, server.URL), time.Now)
	b := l.Bucket("updates", 10, 10)
	for range 10 {
		b.Take(t.Context(), "early")
	}
	server.Stop()
	if wait := b.Take(t.Context(), "early"); wait == 0 {
		t.Error("a rejected key got a full bucket when Redis stopped")
	}
	away(t, l)
	server.Start()
	// After Redis returns, nodes share buckets again.
	other := limit.New(connect(t, server.URL), time.Now).Bucket("updates", 10, 10)
	deadline := time.Now().Add(10 * time.Second)
	for i := 0; other.Take(t.Context(), "back"+strconv.Itoa(i)) == 0; i++ {
		if time.Now().After(deadline) {
			t.Fatal("the node still limits without Redis")
		}
		time.Sleep(20 * time.Millisecond)
		for range 10 {
			b.Take(t.Context(), "back"+strconv.Itoa(i+1))
		}
	}
}

func TestRedisHangs(t *testing.T) {
	t.Parallel()
	server := backends.OwnRedis(t)
	l := limit.New(connect(t, server.URL), time.Now)
	trusted := l.Bucket("servers", 600_000, 10_000)
	trusted.Take(t.Context(), "game")
	server.Hang()
	away(t, l)
	for i := range 5_000 {
		if wait := trusted.Take(t.Context(), "game"); wait != 0 {
			t.Fatalf("a server's request %d: got a wait of %s", i, wait)
		}
	}
}
