-- KEYS: meta, rank, users, then the same three of the shadow.
-- ARGV: channel, board, updated (microseconds), moved, then changes.
-- Returns how many changes were newer, or -1 where the board is cold. While a
-- rebuild has marked a shadow, it gets every change, too.
local life = redis.call('PTTL', KEYS[4])
if life > 0 then
    put(KEYS[5], KEYS[6], 5)
    -- What this call has made must not outlive an interrupted rebuild.
    redis.call('PEXPIRE', KEYS[5], life)
    redis.call('PEXPIRE', KEYS[6], life)
end
if redis.call('EXISTS', KEYS[1]) == 0 then
    return -1
end
local applied = put(KEYS[2], KEYS[3], 5)
if applied == 0 then
    return 0
end
local top = head(KEYS[2])
if top == redis.call('HGET', KEYS[1], 'top') then
    top = nil
else
    redis.call('HSET', KEYS[1], 'top', top)
    redis.call('HINCRBY', KEYS[1], 'version', 1)
end
if tonumber(ARGV[3]) > tonumber(redis.call('HGET', KEYS[1], 'updated')) then
    redis.call('HSET', KEYS[1], 'updated', ARGV[3])
end
announce(ARGV[1], ARGV[2], KEYS[1], KEYS[2], top, ARGV[4])
return applied
