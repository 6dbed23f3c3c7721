-- KEYS: head. Returns server, since, asof, built, epoch, version, updated, order, of,
-- seqs, rows of the head of a board in partitions; nil if there is none.
local facts = redis.call('HMGET', KEYS[1], 'server', 'since', 'asof', 'built', 'epoch', 'version', 'updated', 'order',
    'of', 'seqs', 'rows')
if not facts[1] then
    return nil
end
return facts
