-- KEYS: meta, rank, users. ARGV: users. Returns the length of the prefix, then for each the
-- state and the key in the sorted set, empty if missing; nil if the board is not loaded.
if not intact() then
    return nil
end
local found = { tostring(width) }
for i, user in ipairs(ARGV) do
    local state = redis.call('HGET', KEYS[3], user)
    found[2 * i] = state or ''
    found[2 * i + 1] = state and redis.call('ZSCORE', KEYS[2], string.sub(state, 1, width) .. user) or ''
end
return found
