-- KEYS: merged top, then meta, rank, users of the board, then the same of its shadow.
-- ARGV: token, epoch, updated (microseconds), order, now (microseconds), as of
-- (microseconds), partitions.
-- Begins the merged top of a board in partitions whose shadows were swapped in under this
-- epoch, in place of what was live. It has no rows until they are merged. Returns 1; -1
-- if the shadow is not the caller's; -3 if the epoch is not greater than the live
-- board's.
if redis.call('HGET', KEYS[5], 'token') ~= ARGV[1] then
    return -1
end
local kind = redis.call('TYPE', KEYS[2]).ok
local live = kind == 'hash' and KEYS[2] or KEYS[1]
if tonumber(ARGV[2]) <= (tonumber(redis.call('HGET', live, 'epoch') or 0) or 0) then
    return -3
end
local since = redis.call('HGET', KEYS[5], 'since') or redis.call('HGET', live, 'since')
local server, marked = unpack(redis.call('HMGET', KEYS[5], 'server', 'marked'))
redis.call('UNLINK', KEYS[1], KEYS[5], KEYS[6], KEYS[7])
divide(KEYS[2], KEYS[3], KEYS[4], ARGV[7])
redis.call('HSET', KEYS[1], 'epoch', ARGV[2], 'version', 0, 'updated', ARGV[3], 'order', ARGV[4], 'server', server,
    'marked', marked, 'built', ARGV[5], 'asof', ARGV[6], 'of', ARGV[7])
if since then
    redis.call('HSET', KEYS[1], 'since', since)
end
return 1
