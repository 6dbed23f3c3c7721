-- KEYS: fresh. Returns what changes with each heartbeat; nil before the first one.
return redis.call('HGET', KEYS[1], 'beat')
