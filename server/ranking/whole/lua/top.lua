-- KEYS: meta, rank, users. ARGV: rows. Returns server, since, asof, built, marked, epoch,
-- version, updated, order, total, 0, 0, then rows as member, key, …; nil if the board is not
-- loaded.
local facts = basis('epoch', 'version', 'updated', 'order')
if not facts then
    return nil
end
facts[10] = redis.call('ZCARD', KEYS[2])
facts[11], facts[12] = 0, 0
for _, v in ipairs(redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1, 'WITHSCORES')) do
    facts[#facts + 1] = v
end
return facts
