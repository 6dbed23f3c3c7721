-- KEYS: fresh. ARGV: the number of shards and partitions, then pairs of field and
-- microseconds. A time never goes back: what was applied stays applied.
redis.call('HSET', KEYS[1], 'of', ARGV[1])
for i = 2, #ARGV, 2 do
    local was = redis.call('HGET', KEYS[1], ARGV[i])
    if not was or tonumber(was) < tonumber(ARGV[i + 1]) then
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
end
return 0
