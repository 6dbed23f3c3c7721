-- KEYS: meta, rank, users of the shadow.
-- ARGV: token, milliseconds until the mark expires.
-- Marks a shadow; returns 0 if another mark has not expired.
if redis.call('EXISTS', KEYS[1]) == 1 then
    return 0
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'server', server())
redis.call('PEXPIRE', KEYS[1], ARGV[2])
seal(KEYS[2], KEYS[3], ARGV[1], ARGV[2])
return 1
