-- KEYS: meta, rank, users. ARGV: rows, key, member. Returns server, since, asof, built,
-- epoch, version, updated, order, total, the 0-based rank of the first row, then the
-- rows behind that position as member, key, …; nil if the board is not loaded. The
-- position need not be taken: it is found by binary search among members of the same
-- key.
local facts = redis.call('HMGET', KEYS[1], 'server', 'since', 'asof', 'built', 'epoch', 'version', 'updated', 'order')
if not facts[5] then
    return nil
end
-- By bytes, as the sorted set does; < would ask the server's locale.
local function before(a, b)
    for i = 1, math.min(#a, #b) do
        local x, y = string.byte(a, i), string.byte(b, i)
        if x ~= y then
            return x < y
        end
    end
    return #a < #b
end
facts[9] = redis.call('ZCARD', KEYS[2])
local low = redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. ARGV[2])
local high = redis.call('ZCOUNT', KEYS[2], '-inf', ARGV[2])
while low < high do
    local middle = math.floor((low + high) / 2)
    if before(ARGV[3], redis.call('ZRANGE', KEYS[2], middle, middle)[1]) then
        high = middle
    else
        low = middle + 1
    end
end
facts[10] = low
for _, v in ipairs(redis.call('ZRANGE', KEYS[2], low, low + ARGV[1] - 1, 'WITHSCORES')) do
    facts[#facts + 1] = v
end
return facts
