// Package redislease assigns work to one process at a time by a key in Redis, which holds
// the owner and expires. A process that dies holds up nothing for long. Redis may lose the
// key, so that two owners overlap: their work must bear it. Where it cannot, the lease is in
// PostgreSQL.
package redislease

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var take = redis.NewScript(`
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

var release = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
end
return 0`)

// Take takes or renews the lease at key for owner; false if another owner holds it.
func Take(ctx context.Context, rdb redis.Scripter, key, owner string, ttl time.Duration) (held bool, err error) {
	n, err := take.Run(ctx, rdb, []string{key}, owner, ttl.Milliseconds()).Int64()
	if err != nil {
		return false, fmt.Errorf("take the lease %s: %w", key, err)
	}
	return n == 1, nil
}

// Release releases the lease early if owner holds it.
func Release(ctx context.Context, rdb redis.Scripter, key, owner string) error {
	if err := release.Run(ctx, rdb, []string{key}, owner).Err(); err != nil {
		return fmt.Errorf("release the lease %s: %w", key, err)
	}
	return nil
}
