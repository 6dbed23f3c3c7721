-- KEYS: meta, rank, users of the shadow. ARGV: token.
-- Removes the shadow if it is the caller's.
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then
    redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
end
return 0
