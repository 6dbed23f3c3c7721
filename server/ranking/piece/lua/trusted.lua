-- KEYS: fresh. Returns the identity of the server that holds the bucket, when the
-- store's history was adopted, 0 if it never was, and the time before which no board may have
-- been claimed, 0 without one (heartbeats.lua).
local fresh = redis.pcall('HMGET', KEYS[1], 'adopted', 'doubted')
return { server(), fresh[1] or '0', fresh[2] or '0' }
