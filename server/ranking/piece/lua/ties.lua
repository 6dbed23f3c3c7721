-- better returns how many members of a sorted set have a better key than this one or, on a board with
-- subscores, the same key and a better subscore than the prefix begins with.
local function better(rank, key, prefix)
    if width == 8 then
        return redis.call('ZCOUNT', rank, '-inf', '(' .. key)
    end
    return upto_member(rank, key, string.sub(prefix, 1, 8)) -- members are longer
end

-- ahead returns how many members rank better than the first of rows (member, key, …), which has
-- this index: all before it or, with shared ranks, those with a better key and subscore.
local function ahead(rank, rows, first, shared)
    if shared == '1' and rows[2] then
        return better(rank, rows[2], rows[1])
    end
    return first
end
