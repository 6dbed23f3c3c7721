-- KEYS: fresh. ARGV: the number of shards and partitions, then pairs of field and
-- microseconds. A time never goes back: what was applied stays applied. But it is
-- true only of what this server holds: another one, or the same after a restart, may
-- have lost the latest changes. Then the times start anew, and how far the former
-- server had come is kept for the boards that were built on it.
local function info(section, field)
    local text = redis.pcall('INFO', section)
    return type(text) == 'string' and string.match(text, '\n' .. field .. ':(%w+)') or nil
end
local run, replication = info('server', 'run_id'), info('replication', 'master_replid')
local server = run and replication and run .. '/' .. replication or '' -- as in condition.go
local was = redis.call('HGET', KEYS[1], 'server')
if was and was ~= server then
    local shards, partitions = string.match(redis.call('HGET', KEYS[1], 'of') or '', '^(%d+)/(%d+)$')
    local oldest = shards and '' or nil
    for shard = 0, tonumber(shards or 0) - 1 do
        for partition = 0, tonumber(partitions) - 1 do
            local at = redis.call('HGET', KEYS[1], shard .. '/' .. partition)
            if not at then
                oldest = nil
            elseif oldest and (oldest == '' or tonumber(at) < tonumber(oldest)) then
                oldest = at
            end
        end
    end
    local former, adopted = redis.call('HGET', KEYS[1], 'former'), redis.call('HGET', KEYS[1], 'adopted')
    if oldest and oldest ~= '' then
        former = oldest .. ' ' .. was
    end
    redis.call('DEL', KEYS[1])
    if former then
        redis.call('HSET', KEYS[1], 'former', former)
    end
    if adopted then
        redis.call('HSET', KEYS[1], 'adopted', adopted)
    end
end
redis.call('HSET', KEYS[1], 'server', server, 'of', ARGV[1])
for i = 2, #ARGV, 2 do
    local was = redis.call('HGET', KEYS[1], ARGV[i])
    if not was or tonumber(was) < tonumber(ARGV[i + 1]) then
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
end
return 0
