-- KEYS: history. ARGV: id and adoption as the caller has read them, then id,
-- position, adoption and checks of the history that continues it. Stores it unless
-- another one was stored since. A position and checks that are further on stay.
local facts = redis.call('HMGET', KEYS[1], 'id', 'adopted', 'position', 'mark')
if (facts[1] or '') ~= ARGV[1] or (facts[2] or '-1') ~= ARGV[2] then
    return 0
end
redis.call('HSET', KEYS[1], 'id', ARGV[3], 'adopted', ARGV[5])
for field, i in pairs({ position = 4, mark = 6 }) do
    local was = facts[field == 'position' and 3 or 4]
    if facts[1] ~= ARGV[3] or not was or tonumber(was) < tonumber(ARGV[i]) then
        redis.call('HSET', KEYS[1], field, ARGV[i])
    end
end
return 1
