-- KEYS: meta, rank, users of the shadow.
-- ARGV: token, milliseconds until the claim expires, order.
-- Claims a shadow; returns 0 if another claim has not expired.
if redis.call('PTTL', KEYS[1]) >= 0 then
    return 0
end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3]) -- a claim always expires: this is none
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'server', server(), 'marked', now, 'order', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
stamp(KEYS[2], KEYS[3], ARGV[1], ARGV[2])
return 1
