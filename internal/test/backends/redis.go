package backends

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// RedisClient opens a client of the Redis at url until the test ends.
func RedisClient(t testing.TB, url string, edit ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edit {
		e(o)
	}
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// EachRedis runs a test on a real Redis and on the stand-in of the development stack.
func EachRedis(t *testing.T, do func(t *testing.T, url string)) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		do(t, Redis(t))
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		if err := m.StartAddr("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		do(t, "redis://"+m.Addr())
	})
}
