-- KEYS: meta, rank, users. ARGV: 1 for shared ranks, the length of the prefix that the caller
-- expects, then user, key and, where that is 16, the subscore's 8 bytes of the prefix; an empty
-- key means the current rank. Returns a 1-based rank for each, or 0 for none; nil if the board is
-- not loaded, or has another prefix.
--
-- A key is a standing that was just recorded and may not have been applied yet: everyone with
-- an equal or better one is ahead, except the user's own old entry. With shared ranks, only a
-- better one is ahead.
if not intact() or tonumber(ARGV[2]) ~= width then
    return nil
end
local shared = ARGV[1] == '1'
local wide = width > 8
local ranks = {}
for i = 3, #ARGV, wide and 3 or 2 do
    local key, subscore = ARGV[i + 1], wide and ARGV[i + 2] or ''
    local state = redis.call('HGET', KEYS[3], ARGV[i])
    local own, owned
    if state and string.sub(state, -2) == ' 0' then -- a hidden user is not in the set
        own, owned = string.match(state, '^(%S+)', width + 1), string.sub(state, 1, #subscore)
    end
    if own and (key == '' or own == key and owned == subscore) then
        local rank = redis.call('ZRANK', KEYS[2], string.sub(state, 1, width) .. ARGV[i])
        if rank and shared then
            rank = better(KEYS[2], own, state)
        end
        ranks[#ranks + 1] = rank and rank + 1 or 0
    elseif key == '' then
        ranks[#ranks + 1] = 0
    else
        local before_it
        if shared then
            before_it = better(KEYS[2], key, subscore)
        elseif wide then -- no time and user come behind this
            before_it = upto_member(KEYS[2], key, subscore .. string.rep('\255', 9))
        else
            before_it = redis.call('ZCOUNT', KEYS[2], '-inf', key)
        end
        if own and (tonumber(own) < tonumber(key) or tonumber(own) == tonumber(key) and not before(subscore, owned)) then
            before_it = before_it - 1
        end
        ranks[#ranks + 1] = before_it + 1
    end
end
return ranks
