-- KEYS: meta, rank, users of a partition. ARGV: epoch. Removes the partition unless it was
-- swapped in under another epoch since the caller looked.
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then
    redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
end
return 0
