-- KEYS: merged top, then fresh of its bucket. Returns the record of fresh as field, value, …,
-- then server, since, asof, built, marked, epoch, version, updated, order, of, seqs, rows, total
-- of the merged top of a board in partitions; nil if there is none.
local facts = redis.call('HMGET', KEYS[1], 'server', 'since', 'asof', 'built', 'marked', 'epoch', 'version', 'updated',
    'order', 'of', 'seqs', 'rows', 'total')
if not facts[1] then
    return nil
end
local reply = { redis.call('HGETALL', KEYS[2]) }
for i = 1, 13 do
    reply[i + 1] = facts[i]
end
return reply
