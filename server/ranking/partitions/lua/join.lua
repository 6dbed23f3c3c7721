-- Before swap.lua, where the shadow replaces a board in partitions by one in one piece.
-- KEYS: those of swap.lua, then the merged top. ARGV: those of swap.lua.
if redis.call('TYPE', KEYS[1]).ok == 'string' then
    local facts = redis.call('HMGET', KEYS[7], 'epoch', 'since')
    if redis.call('HGET', KEYS[4], 'token') ~= ARGV[1] then
        return -1
    end
    if tonumber(ARGV[4]) <= (tonumber(facts[1] or 0) or 0) then
        return -3
    end
    if not redis.call('ZSCORE', KEYS[5], ARGV[1]) or redis.call('HGET', KEYS[6], '') ~= ARGV[1] then
        return -2
    end
    if facts[2] then
        redis.call('HSETNX', KEYS[4], 'since', facts[2])
    end
    redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[7])
end
