-- KEYS: meta, rank, users. ARGV: rows, key, member, rows before that position, 1 for shared ranks. Returns server,
-- since, asof, built, marked, epoch, version, updated, order, total, the index of the first row from 0, its
-- 0-based rank, then the rows around that position as member, key, …; nil if the board is not
-- loaded. The position need not be taken: it is found by binary search among members of the
-- same key.
local facts = basis('epoch', 'version', 'updated', 'order')
if not facts then
    return nil
end
facts[10] = redis.call('ZCARD', KEYS[2])
local low = upto_member(KEYS[2], ARGV[2], ARGV[3])
local first = math.max(low - ARGV[4], 0)
facts[11] = first
local rows = redis.call('ZRANGE', KEYS[2], first, low + ARGV[1] - 1, 'WITHSCORES')
facts[12] = ahead(KEYS[2], rows, first, ARGV[5])
for _, v in ipairs(rows) do
    facts[#facts + 1] = v
end
return facts
