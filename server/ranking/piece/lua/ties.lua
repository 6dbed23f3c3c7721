-- better returns how many members of a sorted set have a better key than this one.
local function better(rank, key)
    return redis.call('ZCOUNT', rank, '-inf', '(' .. key)
end

-- ahead returns how many members rank better than the first of rows (member, key, …), which has
-- this index: all before it or, with shared ranks, those with a better key.
local function ahead(rank, rows, first, shared)
    if shared == '1' and rows[2] then
        return better(rank, rows[2])
    end
    return first
end
