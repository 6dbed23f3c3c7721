-- KEYS: meta, rank, users, then the same three of the shadow.
-- ARGV: token, channel, board, epoch, updated (microseconds), order, minimum users,
-- now (microseconds).
-- Replaces the live board by the shadow under a new epoch. Returns the number of
-- ranked users; -1 if the shadow is not the caller's; -2 if it has fewer users than
-- the minimum, because it lost some.
if redis.call('HGET', KEYS[4], 'token') ~= ARGV[1] then
    return -1
end
if redis.call('HLEN', KEYS[6]) < tonumber(ARGV[7]) then
    return -2
end
local server = redis.call('HGET', KEYS[4], 'server')
local since = redis.call('HGET', KEYS[4], 'since') or redis.call('HGET', KEYS[1], 'since')
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
for i = 2, 3 do
    if redis.call('EXISTS', KEYS[i + 3]) == 1 then
        redis.call('RENAME', KEYS[i + 3], KEYS[i])
        redis.call('PERSIST', KEYS[i])
    end
end
local top = head(KEYS[2])
redis.call('HSET', KEYS[1], 'epoch', ARGV[4], 'version', 1, 'updated', ARGV[5], 'order', ARGV[6], 'top', top,
    'server', server, 'built', ARGV[8])
if since then
    redis.call('HSET', KEYS[1], 'since', since)
end
announce(ARGV[2], ARGV[3], KEYS[1], KEYS[2], top, '')
return redis.call('ZCARD', KEYS[2])
