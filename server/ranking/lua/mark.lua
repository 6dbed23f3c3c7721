-- KEYS: meta, rank, users of the shadow.
-- ARGV: token, milliseconds that the mark lives, which server this is.
-- Marks a shadow, or returns 0 where another's mark is alive.
if redis.call('EXISTS', KEYS[1]) == 1 then
    return 0
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'server', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
