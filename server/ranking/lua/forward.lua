-- KEYS: meta, rank, users of the shadow of a board or of a partition. ARGV: token, oldest
-- (microseconds: the earliest time at which a change was recorded), then changes.
-- Applies changes of a board that a rebuild lays out otherwise to what will replace it.
-- Returns how many were newer; -1 if the shadow is not that of the rebuild, because it
-- was swapped in or lost; -since where a change was recorded before since.
local facts = redis.call('HMGET', KEYS[1], 'token', 'since', 'order')
if facts[1] ~= ARGV[1] then
    return -1
end
if tonumber(ARGV[2]) < tonumber(facts[2] or 0) then
    return -tonumber(facts[2])
end
measure(facts[3])
local applied = put(KEYS[2], KEYS[3], 3)
local life = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[2], life)
redis.call('PEXPIRE', KEYS[3], life)
return applied
