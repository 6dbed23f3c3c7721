-- KEYS: lease. ARGV: owner, milliseconds; 0 ends the lease. Returns 1 where it
-- is the owner's now, 0 where it is another's.
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
