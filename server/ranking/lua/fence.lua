-- KEYS: meta, rank, users of the shadow. ARGV: token, since (microseconds).
-- From now on nothing that was recorded before since goes into the shadow, and
-- nothing that has gone into it stays. Returns 0 where the mark is not the
-- caller's.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then
    return 0
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'since', ARGV[2])
return 1
