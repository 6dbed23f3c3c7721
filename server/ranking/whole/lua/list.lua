-- KEYS: meta, rank, users. ARGV: 1 for shared ranks, then users. Returns server, since, asof, built, marked,
-- epoch, version, order, total, then for each user the 0-based rank and the state; -1 and ''
-- if the user is not ranked; nil if the board is not loaded.
local facts = basis('epoch', 'version', 'order')
if not facts then
    return nil
end
facts[9] = redis.call('ZCARD', KEYS[2])
for i = 2, #ARGV do
    local user = ARGV[i]
    local state = redis.call('HGET', KEYS[3], user)
    local rank = state and redis.call('ZRANK', KEYS[2], string.sub(state, 1, width) .. user)
    if rank and ARGV[1] == '1' then
        rank = better(KEYS[2], string.match(state, '^%S+', width + 1), state)
    end
    facts[#facts + 1] = rank or -1
    facts[#facts + 1] = rank and state or ''
end
return facts
