-- KEYS: meta, rank, users. ARGV: channel, board, '1' to remove, then members.
-- Returns the length of their prefix, and the members of the set that belong to no state: the
-- user has none, is hidden, or has another prefix; nil if the board is not loaded.
if not intact() then
    return nil
end
local orphans = {}
for i = 4, #ARGV do
    local state = redis.call('HGET', KEYS[3], string.sub(ARGV[i], width + 1))
    local owned = state and string.sub(state, 1, width) == string.sub(ARGV[i], 1, width) and string.sub(state, -2) == ' 0'
    if not owned and redis.call('ZSCORE', KEYS[2], ARGV[i]) then
        orphans[#orphans + 1] = ARGV[i]
    end
end
if ARGV[3] == '1' and #orphans > 0 then
    redis.call('ZREM', KEYS[2], unpack(orphans))
    count()
    announce(ARGV[1], ARGV[2], KEYS[1], KEYS[2], renew(KEYS[1], KEYS[2]), '')
end
table.insert(orphans, 1, tostring(width))
return orphans
