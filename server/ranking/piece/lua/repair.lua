-- KEYS: meta, rank, users. ARGV: channel, board, moved, user, the wrong state (empty:
-- none), then the correct one: revision, key, prefix, version, hidden; revision 0
-- removes the user. Returns 1; 0 if the state has changed since; -1 if the board is
-- not loaded, or has no subscores and the correct state has one.
if not intact() then
    return -1
end
local user, wrong, revision, key, prefix, version, hidden = ARGV[4], ARGV[5], ARGV[6], ARGV[7], widen(ARGV[8]), ARGV[9], ARGV[10]
if not prefix then
    return -1
end
if (redis.call('HGET', KEYS[3], user) or '') ~= wrong then
    return 0
end
if wrong ~= '' then
    redis.call('ZREM', KEYS[2], string.sub(wrong, 1, width) .. user)
end
redis.call('HDEL', KEYS[3], user)
if revision ~= '0' then
    if hidden ~= '1' then
        redis.call('ZADD', KEYS[2], key, prefix .. user)
    end
    redis.call('HSET', KEYS[3], user, prefix .. key .. ' ' .. revision .. ' ' .. version .. ' ' .. hidden)
end
count()
announce(ARGV[1], ARGV[2], KEYS[1], KEYS[2], renew(KEYS[1], KEYS[2]), ARGV[3])
return 1
