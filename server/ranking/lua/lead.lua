-- KEYS: lease. ARGV: owner, milliseconds; 0 releases the lease. Returns 1 if the
-- caller is the owner, 0 if another is.
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
    return 0
end
if ARGV[2] == '0' then
    redis.call('DEL', KEYS[1])
else
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
