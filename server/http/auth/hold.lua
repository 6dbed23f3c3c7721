-- KEYS: the ticket. ARGV: 1 where a stream has opened with it, -1 where one has ended;
-- now and the life of a ticket that no stream holds, in milliseconds. A held ticket
-- expires with its bearer token. One that has expired stays so.
local expires = redis.call('HGET', KEYS[1], 'expires')
if not expires then
    return
end
local till = tonumber(expires)
if redis.call('HINCRBY', KEYS[1], 'open', ARGV[1]) <= 0 then
    till = math.min(till, ARGV[2] + ARGV[3])
end
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', till))
