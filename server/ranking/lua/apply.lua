-- KEYS: meta, rank, users, then the same three of the shadow.
-- ARGV: channel, board, updated (microseconds), moved, oldest (microseconds: the
-- least time that one of them was recorded at), then changes.
-- Returns how many changes were newer, or -1 where the board is cold, or, having
-- done nothing, -since where some were recorded before it, in a history that
-- the store has not gone through. While a rebuild has marked a shadow, it gets
-- every change, too.
local life = redis.call('PTTL', KEYS[4])
local since = tonumber(redis.call('HGET', KEYS[1], 'since') or 0)
if life > 0 then
    since = math.max(since, tonumber(redis.call('HGET', KEYS[4], 'since') or 0))
end
if tonumber(ARGV[5]) < since then
    return -since
end
if life > 0 then
    put(KEYS[5], KEYS[6], 6)
    -- What this call has made must not outlive an interrupted rebuild.
    redis.call('PEXPIRE', KEYS[5], life)
    redis.call('PEXPIRE', KEYS[6], life)
end
if redis.call('EXISTS', KEYS[1]) == 0 then
    return -1
end
local applied = put(KEYS[2], KEYS[3], 6)
if applied == 0 then
    return 0
end
local top = renew(KEYS[1], KEYS[2])
if tonumber(ARGV[3]) > tonumber(redis.call('HGET', KEYS[1], 'updated')) then
    redis.call('HSET', KEYS[1], 'updated', ARGV[3])
end
announce(ARGV[1], ARGV[2], KEYS[1], KEYS[2], top, ARGV[4])
return applied
