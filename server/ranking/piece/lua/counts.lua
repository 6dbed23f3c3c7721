-- A board, or a partition, records how many members its sorted set has and how many states
-- its hash. Fewer than that: Redis, or somebody, has removed the key or a part of it, and the
-- board is not loaded until it is rebuilt.

-- intact reports whether the board in the first three keys is loaded and has all it had, and
-- measures its prefix.
local function intact()
    local facts = redis.call('HMGET', KEYS[1], 'epoch', 'members', 'states', 'order')
    measure(facts[4])
    return tonumber(facts[1] or '') and redis.call('ZCARD', KEYS[2]) >= tonumber(facts[2] or 0)
        and redis.call('HLEN', KEYS[3]) >= tonumber(facts[3] or 0)
end

-- count records what the board in the first three keys has.
local function count()
    redis.call('HSET', KEYS[1], 'members', redis.call('ZCARD', KEYS[2]), 'states', redis.call('HLEN', KEYS[3]))
end

-- basis returns what a board says about itself, then other facts; nil if it is not intact.
local function basis(...)
    return intact() and redis.call('HMGET', KEYS[1], 'server', 'since', 'asof', 'built', 'marked', ...) or nil
end
