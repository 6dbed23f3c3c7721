-- KEYS: meta, rank, users of the shadow. ARGV: token, since (microseconds).
-- Empties the shadow, and rejects changes recorded before since from now on. Returns
-- 0 if the shadow is not the caller's.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then
    return 0
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'since', ARGV[2])
stamp(KEYS[2], KEYS[3], ARGV[1], redis.call('PTTL', KEYS[1]))
return 1
