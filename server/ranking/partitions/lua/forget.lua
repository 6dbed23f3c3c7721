-- KEYS: layouts. ARGV: the number of partitions, token. Removes it from the record unless
-- another rebuild has recorded it again.
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
    redis.call('HDEL', KEYS[1], ARGV[1])
end
return 0
