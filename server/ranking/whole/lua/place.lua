-- KEYS: meta, rank, users. ARGV: user, neighbours on each side, 1 for shared ranks.
-- Returns server, since, asof, built, marked, epoch, version, order, total, rank (0-based),
-- state, index of the first neighbour from 0, its 0-based rank, then neighbours as member, key, …;
-- only the first nine if the user is not ranked; nil if the board is not loaded.
local facts = basis('epoch', 'version', 'order')
if not facts then
    return nil
end
facts[9] = redis.call('ZCARD', KEYS[2])
local state = redis.call('HGET', KEYS[3], ARGV[1])
local rank = state and redis.call('ZRANK', KEYS[2], string.sub(state, 1, width) .. ARGV[1])
if not rank then
    return facts
end
facts[10], facts[11] = rank, state
if ARGV[3] == '1' then
    facts[10] = better(KEYS[2], string.match(state, '^%S+', width + 1), state)
end
local k = tonumber(ARGV[2])
if k > 0 then
    local first = rank - k
    if first < 0 then
        first = 0
    end
    facts[12] = first
    local rows = redis.call('ZRANGE', KEYS[2], first, rank + k, 'WITHSCORES')
    facts[13] = ahead(KEYS[2], rows, first, ARGV[3])
    for _, v in ipairs(rows) do
        facts[#facts + 1] = v
    end
end
return facts
