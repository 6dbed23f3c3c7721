-- KEYS: meta, rank, users of the shadow.
-- ARGV: token, milliseconds until the claim expires, then changes.
-- Returns how many were newer, or -1 if the shadow is not the caller's.
local facts = redis.call('HMGET', KEYS[1], 'token', 'order')
if facts[1] ~= ARGV[1] then
    return -1
end
measure(facts[2])
local applied = put(KEYS[2], KEYS[3], 3)
for i = 1, 3 do
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
return applied
