-- A board, or a partition, records how many members its sorted set has and how many states
-- its hash. Fewer than that: Redis, or somebody, has removed the key or a part of it, and the
-- board is not loaded until it is rebuilt. More than that: a build that records nothing has
-- added them.
--
-- A build that knows no subscores must not touch a board that has them: it would take a part of the
-- prefix for the user. So the number of members of such a board is stored as that many more than
-- it has, and the board is not loaded to that build.
local function surplus()
    return width > 8 and 4503599627370496 or 0 -- 2^52
end

-- intact reports whether the board in the first three keys is loaded and has all it had, and
-- measures its prefix.
local function intact()
    local facts = redis.call('HMGET', KEYS[1], 'epoch', 'members', 'states', 'order')
    measure(facts[4])
    return tonumber(facts[1] or '') and redis.call('ZCARD', KEYS[2]) + surplus() >= tonumber(facts[2] or 0)
        and redis.call('HLEN', KEYS[3]) >= tonumber(facts[3] or 0)
end

-- count records what the board in the first three keys has.
local function count()
    local members = string.format('%.0f', redis.call('ZCARD', KEYS[2]) + surplus())
    redis.call('HSET', KEYS[1], 'members', members, 'states', redis.call('HLEN', KEYS[3]))
end

-- basis returns what a board says about itself, then other facts; nil if it is not intact.
local function basis(...)
    return intact() and redis.call('HMGET', KEYS[1], 'server', 'since', 'asof', 'built', 'marked', ...) or nil
end
