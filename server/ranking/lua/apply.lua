-- KEYS: meta, rank, users, then the same three of the shadow, then fresh.
-- ARGV: channel, board, updated (microseconds), moved, oldest (microseconds: the
-- earliest time at which a change was recorded), complete, server, forwarded, then changes.
-- Returns how many changes were newer; -1 where the board is not loaded, or has no subscores and a
-- change has one; or, with
-- nothing applied, -since where a change was recorded before since, in a history
-- that the store has lost. While a rebuild has claimed a shadow, the shadow gets
-- every change too; if the rebuild lays the board out otherwise, the caller has to apply
-- them there first: where is returned, with nothing applied, unless it is what forwarded
-- says. complete is added to the notice if every change was newer, and server names the one
-- that the board was built on, and the present beat of this one: SERVER@BEAT; unless the board
-- is in doubt (heartbeats.lua).
local life = redis.call('PTTL', KEYS[4])
local facts = redis.call('HMGET', KEYS[1], 'since', 'server', 'marked')
local since = tonumber(facts[1] or 0)
local elsewhere
if life > 0 then
    local shadow = redis.call('HMGET', KEYS[4], 'next', 'since', 'order')
    elsewhere = shadow[1]
    since = math.max(since, tonumber(shadow[2] or 0))
    measure(shadow[3])
end
if tonumber(ARGV[5]) < since then
    return -since
end
if elsewhere and elsewhere ~= ARGV[8] then
    return elsewhere
end
if life > 0 and not elsewhere then
    put(KEYS[5], KEYS[6], 9)
    -- Keys made by this call must not outlive an interrupted rebuild.
    redis.call('PEXPIRE', KEYS[5], life)
    redis.call('PEXPIRE', KEYS[6], life)
end
if not intact() then
    return -1
end
local applied = put(KEYS[2], KEYS[3], 9)
if applied < 1 then
    return applied
end
count()
local top = renew(KEYS[1], KEYS[2])
-- A time of after the year 9999, or none, was not stored by this script.
local updated = tonumber(redis.call('HGET', KEYS[1], 'updated') or '')
if not updated or updated >= 253402300800000000 or tonumber(ARGV[3]) > updated then
    redis.call('HSET', KEYS[1], 'updated', ARGV[3])
end
local fresh = redis.pcall('HMGET', KEYS[7], 'beat', 'doubted') -- of another type until the next heartbeat
local sure = (facts[2] or '') .. '@' .. (fresh[1] or '') == ARGV[7]
    and tonumber(facts[3] or 0) >= tonumber(fresh[2] or 0)
local complete = applied == (#ARGV - 8) / 6 and sure and ARGV[6] or ''
announce(ARGV[1], ARGV[2], KEYS[1], KEYS[2], top, ARGV[4] .. complete)
return applied
