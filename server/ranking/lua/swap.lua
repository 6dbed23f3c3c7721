-- KEYS: meta, rank, users, then the same three of the shadow.
-- ARGV: token, channel, board, epoch, updated (microseconds), order, least,
-- now (microseconds).
-- Puts the shadow in the place of the live board under a new epoch. Returns
-- the number of ranked users, -1 where the mark is not the caller's, or -2
-- where the shadow holds fewer than least users: it lost what was filled in.
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
