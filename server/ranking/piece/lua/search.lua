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

-- upto_member returns how many members of a sorted set are at or before a position, which
-- need not be taken: it is found by binary search among members of the same key.
local function upto_member(rank, key, member)
    local low = redis.call('ZCOUNT', rank, '-inf', '(' .. key)
    local high = redis.call('ZCOUNT', rank, '-inf', key)
    while low < high do
        local middle = math.floor((low + high) / 2)
        if before(member, redis.call('ZRANGE', rank, middle, middle)[1]) then
            high = middle
        else
            low = middle + 1
        end
    end
    return low
end
