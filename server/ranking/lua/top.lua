-- KEYS: meta, rank. Returns epoch, version, updated, order, head, total; or nil
-- where the board is cold.
local facts = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'updated', 'order', 'top')
if not facts[1] then
    return nil
end
facts[6] = redis.call('ZCARD', KEYS[2])
return facts
