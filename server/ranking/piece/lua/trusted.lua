-- KEYS: fresh. Returns the identity of the server that holds the bucket, and when the
-- store's history was adopted; 0 if it never was.
return { server(), redis.call('HGET', KEYS[1], 'adopted') or '0' }
