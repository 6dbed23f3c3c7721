-- KEYS: meta, rank, users of a partition, then fresh. ARGV: 1 to return the record of
-- fresh, 1 for shared ranks, the number of positions, then of each: key, member, the number of
-- rows before it, the number from it on; then users. Returns the record as field, value, …
-- (empty unless asked for), server, since, asof, built, marked, epoch, seq, updated, total; then
-- for each position how many members are at or before it; then the state of each user, '' if
-- there is none; then, for each position with rows, the 0-based rank of the first of them, and
-- those rows as a list member, key, …; nil if the partition is not loaded. A position need not
-- be taken: it is found by binary search among members of the same key. An empty member means
-- behind all members of the key.
local facts = basis('epoch', 'seq', 'updated')
if not facts then
    return nil
end
local reply = { ARGV[1] == '1' and redis.call('HGETALL', KEYS[4]) or {} }
for i = 1, 8 do
    reply[i + 1] = facts[i]
end
reply[10] = redis.call('ZCARD', KEYS[2])
local rows = {}
local last = 3 + 4 * ARGV[3]
for i = 4, last, 4 do
    local key, member = ARGV[i], ARGV[i + 1]
    local at
    if member == '' then
        at = redis.call('ZCOUNT', KEYS[2], '-inf', key)
    else
        at = upto_member(KEYS[2], key, member)
    end
    reply[#reply + 1] = at
    local first, stop = math.max(at - ARGV[i + 2], 0), at + ARGV[i + 3] - 1
    if ARGV[i + 2] + ARGV[i + 3] > 0 then
        local list = first <= stop and redis.call('ZRANGE', KEYS[2], first, stop, 'WITHSCORES') or {}
        rows[#rows + 1] = ahead(KEYS[2], list, first, ARGV[2])
        rows[#rows + 1] = list
    end
end
for i = last + 1, #ARGV do
    reply[#reply + 1] = redis.call('HGET', KEYS[3], ARGV[i]) or ''
end
for _, list in ipairs(rows) do
    reply[#reply + 1] = list
end
return reply
