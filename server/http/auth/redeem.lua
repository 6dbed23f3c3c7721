-- KEYS: the ticket. ARGV: board, the address that may resume, or "" for a single use.
-- Returns the result, and for "ok" the user, the scopes, the expiry of the bearer token
-- that the ticket was issued for, in Unix milliseconds, and that token's key. It does not
-- change when the ticket expires: hold.lua does, when a stream has opened.
local t = redis.call('HMGET', KEYS[1], 'board', 'user', 'scopes', 'expires', 'used', 'key')
if not t[1] then
    return { 'unknown' }
end
if t[1] ~= ARGV[1] then
    return { 'board' }
end
if t[5] then
    if ARGV[2] == '' or t[5] ~= ARGV[2] then
        return { 'used' }
    end
else
    redis.call('HSET', KEYS[1], 'used', ARGV[2])
end
return { 'ok', t[2], t[3], t[4], t[6] or '' }
