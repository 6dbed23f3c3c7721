-- KEYS: meta, rank, users of a board that is not loaded. ARGV: the number of partitions.
-- Returns 0 if it is loaded meanwhile.
if redis.call('EXISTS', KEYS[1]) == 1 then
    return 0
end
divide(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
return 1
