package streams

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// In a cluster, streams and rankings are on different servers. A server that restarts
// or fails over may lose the latest entries, which boards on other servers then lack. So
// beside each stream is the name of the server that holds it; once another one does, the
// owner of the rankings hears of it before the next entry is handled. A slot that is moved
// to another server looks the same.

// holder returns the owner of a stream, and the owner when that was last recorded.
var holder = redis.NewScript(`
local function info(section, field)
    local text = redis.pcall('INFO', section)
    return type(text) == 'string' and string.match(text, '\n' .. field .. ':(%w+)') or ''
end
return {info('server', 'run_id') .. '/' .. info('replication', 'master_replid'), redis.call('GET', KEYS[1]) or ''}`)

// OnMove has the consumer call do before it handles entries of a stream of a cluster that
// another server holds than before, also the first time; entries may be missing. It calls
// do again until it succeeds.
func (c *Consumer) OnMove(do func(context.Context) error) { c.moved = do }

func (r *reader) holderKey() string { return r.stream + ":server" }

// checkHolder calls OnMove's function if another server holds the stream than before.
func (r *reader) checkHolder(ctx context.Context) error {
	rdb := r.c.transport.rdb
	if _, clustered := rdb.(*redis.ClusterClient); !clustered || r.c.moved == nil {
		return nil
	}
	found, err := holder.Run(ctx, rdb, []string{r.holderKey()}).StringSlice()
	if err != nil {
		return fmt.Errorf("read which server holds %s: %w", r.stream, err)
	}
	now, before := found[0], found[1]
	if now == before {
		return nil
	}
	r.c.log.Warn("a different server of the cluster holds a stream now, so entries may be missing: "+
		"the rankings are rebuilt", "stream", r.stream, "server", now, "before", before)
	if err := r.c.moved(ctx); err != nil {
		return fmt.Errorf("drop the rankings after %s moved: %w", r.stream, err)
	}
	if err := rdb.Set(ctx, r.holderKey(), now, 0).Err(); err != nil {
		return fmt.Errorf("record which server holds %s: %w", r.stream, err)
	}
	return nil
}
