-- KEYS: history. ARGV: id and adoption as the caller has read them, then id,
-- position and adoption of the history that continues it. Stores it unless the
-- history is no longer the one that was read, or further on.
local facts = redis.call('HMGET', KEYS[1], 'id', 'adopted', 'position')
if (facts[1] or '') ~= ARGV[1] or (facts[2] or '-1') ~= ARGV[2] then
    return 0
end
if facts[1] == ARGV[3] and tonumber(facts[3] or 0) >= tonumber(ARGV[4]) and facts[2] == ARGV[5] then
    return 0
end
redis.call('HSET', KEYS[1], 'id', ARGV[3], 'position', ARGV[4], 'adopted', ARGV[5])
return 1
