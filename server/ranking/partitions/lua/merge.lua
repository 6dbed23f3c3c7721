-- KEYS: merged top. ARGV: channel, board, epoch, sequences of the partitions, updated
-- (microseconds), total, moved, top, rows.
-- Stores what was merged of the partitions when their sequences were those given, and
-- publishes a notice if the top 100 changed or users moved. Returns 1; 0, with nothing
-- stored, if any of the stored sequences is greater: then this was merged of older
-- partitions; -1 if the merged top has another epoch, or there is none.
local facts = redis.call('HMGET', KEYS[1], 'epoch', 'seqs', 'top', 'order')
if facts[1] ~= ARGV[3] then
    return -1
end
local given = {}
for seq in string.gmatch(ARGV[4], '%d+') do
    given[#given + 1] = tonumber(seq)
end
local i = 0
for stored in string.gmatch(facts[2] or '', '%d+') do
    i = i + 1
    if tonumber(stored) > given[i] then
        return 0
    end
end
local changed = facts[3] ~= ARGV[8]
if changed then
    redis.call('HSET', KEYS[1], 'top', ARGV[8])
    redis.call('HINCRBY', KEYS[1], 'version', 1)
end
-- The total with the sequences that it is of.
redis.call('HSET', KEYS[1], 'seqs', ARGV[4], 'rows', ARGV[9], 'updated', ARGV[5], 'total', ARGV[6] .. '/' .. ARGV[4])
if changed or ARGV[7] ~= '' then
    local line = table.concat({ ARGV[2], ARGV[3], redis.call('HGET', KEYS[1], 'version'), ARGV[5], facts[4], ARGV[6],
        changed and #ARGV[8] or -1 }, ' ')
    redis.call('PUBLISH', ARGV[1], line .. '\n' .. (changed and ARGV[8] or '') .. ARGV[7])
end
return 1
