-- KEYS: meta, rank, users. ARGV: 1 for shared ranks, then pairs of user and key; an empty key
-- means the current rank. Returns a 1-based rank for each, or 0 for none; nil if the board is
-- not loaded.
--
-- A key is a standing that was just recorded and may not have been applied yet:
-- everyone with an equal or better key is ahead, except the user's own old entry. With shared
-- ranks, only a better key is ahead.
if not intact() then
    return nil
end
local shared = ARGV[1] == '1'
local ranks = {}
for i = 2, #ARGV, 2 do
    local state = redis.call('HGET', KEYS[3], ARGV[i])
    local own
    if state and string.sub(state, -2) == ' 0' then -- a hidden user is not in the set
        own = string.match(state, '^(%S+)', 9)
    end
    if own and (ARGV[i + 1] == '' or own == ARGV[i + 1]) then
        local rank = redis.call('ZRANK', KEYS[2], string.sub(state, 1, 8) .. ARGV[i])
        if rank and shared then
            rank = better(KEYS[2], own)
        end
        ranks[#ranks + 1] = rank and rank + 1 or 0
    elseif ARGV[i + 1] == '' then
        ranks[#ranks + 1] = 0
    else
        local before = shared and better(KEYS[2], ARGV[i + 1]) or redis.call('ZCOUNT', KEYS[2], '-inf', ARGV[i + 1])
        if own and tonumber(own) <= tonumber(ARGV[i + 1]) then
            before = before - 1
        end
        ranks[#ranks + 1] = before + 1
    end
end
return ranks
