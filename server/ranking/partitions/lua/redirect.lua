-- KEYS: meta, rank, users of the shadow of a live board or partition. ARGV: token, the
-- number of partitions that a rebuild lays the board out in. From now on whoever applies a
-- change is told to apply it there, too, and not to this shadow, which is emptied. Returns
-- 0 if the shadow is not the caller's.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then
    return 0
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'next', ARGV[2] .. ' ' .. ARGV[1])
stamp(KEYS[2], KEYS[3], ARGV[1], redis.call('PTTL', KEYS[1]))
return 1
