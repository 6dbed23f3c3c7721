-- KEYS: meta, rank, users of a partition. ARGV: the number of rows before the first
-- position, the number from it on, the number of positions, then key and member of each;
-- then users. Returns server, since, asof, built, epoch, seq, updated, total, then for
-- each position how many members are at or before it; then the state of each user, ''
-- if there is none; then the rows around the first position, or the first rows if there
-- is no position, as member, key, …; nil if the partition is not loaded. A position need
-- not be taken: it is found by binary search among members of the same key. An empty
-- member means behind all members of the key.
local facts = redis.call('HMGET', KEYS[1], 'server', 'since', 'asof', 'built', 'epoch', 'seq', 'updated')
if not facts[5] then
    return nil
end
local function upto(key, member)
    if member == '' then
        return redis.call('ZCOUNT', KEYS[2], '-inf', key)
    end
    return upto_member(KEYS[2], key, member)
end
facts[8] = redis.call('ZCARD', KEYS[2])
local last = 3 + 2 * tonumber(ARGV[3])
for i = 4, last, 2 do
    facts[#facts + 1] = upto(ARGV[i], ARGV[i + 1])
end
local at = last > 3 and facts[9] or 0
for i = last + 1, #ARGV do
    facts[#facts + 1] = redis.call('HGET', KEYS[3], ARGV[i]) or ''
end
local first, stop = math.max(at - ARGV[1], 0), at + ARGV[2] - 1
if first <= stop then
    for _, v in ipairs(redis.call('ZRANGE', KEYS[2], first, stop, 'WITHSCORES')) do
        facts[#facts + 1] = v
    end
end
return facts
