-- A user's state is the prefix (width.lua), which ends with reached_at (big-endian
-- microseconds), then "key revision version hidden". The member of the sorted set is the
-- prefix and the user id: members of the same key order by the subscore, reached_at, then user
-- id. Revisions are compared as numbers; keys are only stored.

-- put applies the changes in ARGV from index first on, six fields each (user,
-- revision, key, prefix, version, hidden), whose revision is newer. It returns how
-- many were; or, with nothing applied, -1 where one has a subscore and the board has none.
local function put(rank, users, first)
    local names = {}
    for i = first, #ARGV, 6 do
        names[#names + 1] = ARGV[i]
    end
    if #names == 0 then
        return 0
    end
    local states = redis.call('HMGET', users, unpack(names))
    local gone, members, fresh = {}, {}, {}
    for n = 1, #names do
        local at = first + 6 * (n - 1)
        local user, revision, key, prefix, version, hidden = ARGV[at], ARGV[at + 1], ARGV[at + 2], widen(ARGV[at + 3]), ARGV[at + 4], ARGV[at + 5]
        if not prefix then
            return -1
        end
        local was, newer = states[n], true
        if was then
            local old = string.match(was, '^%S+ (%d+)', width + 1)
            newer = tonumber(revision) > tonumber(old)
        end
        if newer then
            local member = prefix .. user
            if was then
                local before = string.sub(was, 1, width) .. user
                if before ~= member or hidden == '1' then
                    gone[#gone + 1] = before
                end
            end
            if hidden ~= '1' then
                members[#members + 1] = key
                members[#members + 1] = member
            end
            fresh[#fresh + 1] = user
            fresh[#fresh + 1] = prefix .. key .. ' ' .. revision .. ' ' .. version .. ' ' .. hidden
        end
    end
    if #gone > 0 then
        redis.call('ZREM', rank, unpack(gone))
    end
    if #members > 0 then
        redis.call('ZADD', rank, unpack(members))
    end
    if #fresh > 0 then
        redis.call('HSET', users, unpack(fresh))
    end
    return #fresh / 2
end

-- first_rows packs the first 100 rows, each as "length key user", with the key of the subscore,
-- if there is one, before the user. It leaves out reached_at, which does not change the version.
local function first_rows(rank)
    local rows = redis.call('ZRANGE', rank, 0, 99, 'WITHSCORES')
    local packed = {}
    for i = 1, #rows, 2 do
        packed[#packed + 1] = (#rows[i] - 8) .. ' ' .. rows[i + 1] .. ' ' .. string.sub(rows[i], 1, width - 8)
            .. string.sub(rows[i], width + 1)
    end
    return table.concat(packed)
end

-- renew stores the merged top and returns it if it changed, which makes a new version.
local function renew(meta, rank)
    local top = first_rows(rank)
    if top == redis.call('HGET', meta, 'top') then
        return nil
    end
    redis.call('HSET', meta, 'top', top)
    redis.call('HINCRBY', meta, 'version', 1)
    return top
end

-- announce publishes a notice: one line of metadata, the merged top if it changed, and
-- the users that moved. Where the order has two words the line has one more.
local function announce(channel, board, meta, rank, top, moved)
    local facts = redis.call('HMGET', meta, 'epoch', 'version', 'updated', 'order')
    local line = table.concat({ board, facts[1], facts[2], facts[3], facts[4],
        redis.call('ZCARD', rank), top and #top or -1 }, ' ')
    redis.call('PUBLISH', channel, line .. '\n' .. (top or '') .. moved)
end
