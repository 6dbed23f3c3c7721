-- KEYS: meta, rank, users, then the same three of the shadow.
-- ARGV: token, channel, board, epoch, updated (microseconds), order, minimum users,
-- now (microseconds), as of (microseconds).
-- Replaces the live board by the shadow under a new epoch. Returns the number of
-- ranked users; -1 if the shadow is not the caller's; -2 if it has lost its sorted
-- set, its hash, or some users: fewer than the minimum are left; -3 if the epoch is
-- not greater than the live board's. A shadow that has lost something is removed.
if redis.call('HGET', KEYS[4], 'token') ~= ARGV[1] then
    return -1
end
if tonumber(ARGV[4]) <= (tonumber(redis.call('HGET', KEYS[1], 'epoch') or 0) or 0) then
    return -3
end
if not unstamp(KEYS[5], KEYS[6], ARGV[1]) or redis.call('HLEN', KEYS[6]) < tonumber(ARGV[7]) then
    redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6])
    return -2
end
local server, marked = unpack(redis.call('HMGET', KEYS[4], 'server', 'marked'))
local since = redis.call('HGET', KEYS[4], 'since') or redis.call('HGET', KEYS[1], 'since')
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
for i = 2, 3 do
    if redis.call('EXISTS', KEYS[i + 3]) == 1 then
        redis.call('RENAME', KEYS[i + 3], KEYS[i])
        redis.call('PERSIST', KEYS[i])
    end
end
measure(ARGV[6])
local top = first_rows(KEYS[2])
redis.call('HSET', KEYS[1], 'epoch', ARGV[4], 'version', 1, 'updated', ARGV[5], 'order', ARGV[6], 'top', top,
    'server', server, 'marked', marked, 'built', ARGV[8], 'asof', ARGV[9])
count()
if since then
    redis.call('HSET', KEYS[1], 'since', since)
end
announce(ARGV[2], ARGV[3], KEYS[1], KEYS[2], top, '')
return redis.call('ZCARD', KEYS[2])
