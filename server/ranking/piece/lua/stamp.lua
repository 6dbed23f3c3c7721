-- stamp puts the token of a rebuild into the sorted set and the hash of its shadow. A
-- key that Redis evicts or expires, and that a change creates again, lacks it. No
-- user has an empty id, and no member starts with a letter or digit: as a time that
-- is more than a hundred thousand years from now.
local function stamp(rank, users, token, life)
    redis.call('ZADD', rank, 0, token)
    redis.call('HSET', users, '', token)
    redis.call('PEXPIRE', rank, life)
    redis.call('PEXPIRE', users, life)
end

-- unstamp removes the token and reports whether both keys had it.
local function unstamp(rank, users, token)
    local whole = redis.call('ZREM', rank, token) == 1 and redis.call('HGET', users, '') == token
    redis.call('HDEL', users, '')
    return whole
end
