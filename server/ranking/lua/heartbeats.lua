-- KEYS: fresh. ARGV: the number of shards and partitions ('' leaves it), the server that the caller wrote to
-- before, for how many microseconds it has not written to any ('' if it never did), then of
-- each: field, microseconds, 1 if the caller recorded this field a moment ago. A time never goes back: what was applied stays applied. But it is
-- true only of what this server holds: another one, or the same after a restart, may
-- have lost the latest changes. Then the times start over, and how far the former
-- server had come is kept for the boards that were built on it.
--
-- In a failover some processes write to the old server longer than others. What they wrote to
-- it after a board was rebuilt on this one is missing here, although everything is applied. So
-- a caller that comes from another server doubts the boards that were claimed before its last
-- write: their snapshots may lack it. So does one that takes over a field that nobody has
-- recorded since the server changed: the process before may have died on the old one.
--
-- A time further ahead of this server's clock than leeway is not believed: it would
-- claim until then that nothing is missing. The limit takes its place, and one that is
-- stored gives way to the next heartbeat.
--
-- beat is another one after each call: who has read the times can ask for it alone, to see
-- whether a server still has what they are true of.
--
-- Returns this server, and the earliest time of all shards and partitions; false while one has
-- not reported.
local leeway = 10000000 -- microseconds, because clocks differ
local function earliest()
    local stored, fields = {}, redis.call('HGETALL', KEYS[1])
    for i = 1, #fields, 2 do
        stored[fields[i]] = fields[i + 1]
    end
    local shards, partitions = string.match(stored['of'] or '', '^(%d+)/(%d+)$')
    local oldest
    for shard = 0, tonumber(shards or 0) - 1 do
        for partition = 0, tonumber(partitions) - 1 do
            local at = stored[shard .. '/' .. partition]
            if not tonumber(at or '') then
                return nil -- nothing bounds these numbers
            elseif not oldest or tonumber(at) < tonumber(oldest) then
                oldest = at
            end
        end
    end
    return oldest
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local limit = now + leeway
local function bounded(at)
    return tonumber(at) > limit and string.format('%.0f', limit) or at
end
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'hash' then -- nor absent: nobody wrote this who knows what it is
    redis.call('UNLINK', KEYS[1])
end
local current = server()
local was = redis.call('HGET', KEYS[1], 'server')
if was and was ~= current then
    local oldest = earliest()
    local former, adopted = redis.call('HGET', KEYS[1], 'former'), redis.call('HGET', KEYS[1], 'adopted')
    if oldest then
        former = bounded(oldest) .. ' ' .. was
    end
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], 'changed', 1)
    if former then
        redis.call('HSET', KEYS[1], 'former', former)
    end
    if adopted then
        redis.call('HSET', KEYS[1], 'adopted', adopted)
    end
end
redis.call('HSET', KEYS[1], 'server', current, 'beat', time[1] .. '.' .. time[2])
if ARGV[1] ~= '' then
    redis.call('HSET', KEYS[1], 'of', ARGV[1])
end
local doubted
if ARGV[2] ~= '' and ARGV[2] ~= current and ARGV[3] ~= '' then
    doubted = now - ARGV[3]
end
local changed = redis.call('HGET', KEYS[1], 'changed')
for i = 4, #ARGV, 3 do
    if changed and ARGV[i + 2] == '0' and redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0 then
        doubted = now
    end
    local was, at = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or ''), bounded(ARGV[i + 1])
    if not was or was > limit or was < tonumber(at) then
        redis.call('HSET', KEYS[1], ARGV[i], at)
    end
end
if doubted and doubted > tonumber(redis.call('HGET', KEYS[1], 'doubted') or 0) then
    redis.call('HSET', KEYS[1], 'doubted', string.format('%.0f', doubted))
end
return { current, earliest() or false }
