-- KEYS: meta, rank. ARGV: rows. Returns epoch, version, updated, order, built, total,
-- 0, then rows as member, key, …; nil if the board is not loaded.
local facts = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'updated', 'order', 'built')
if not facts[1] then
    return nil
end
facts[6] = redis.call('ZCARD', KEYS[2])
facts[7] = 0
for _, v in ipairs(redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1, 'WITHSCORES')) do
    facts[#facts + 1] = v
end
return facts
