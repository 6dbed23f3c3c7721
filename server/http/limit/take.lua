-- Takes up to the wanted number of tokens from a bucket.
-- KEYS[1] when the bucket is full again, in microseconds of this server's clock
-- ARGV    microseconds between two tokens, tokens in a full bucket, tokens wanted
-- Returns how many tokens were taken, and the microseconds until the bucket is full.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, burst, want = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local size = interval * burst
local stored = tonumber(redis.call('GET', KEYS[1]) or 0) - now
-- More than the time to fill an empty bucket means that the clock was set back, or
-- the limit was raised. It is corrected at once, because time counts from it.
local ahead = math.min(math.max(stored, 0), size)
local taken = math.min(want, math.floor((size - ahead) / interval))
if taken > 0 or stored > size then
  ahead = ahead + taken * interval
  redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', string.format('%.0f', math.ceil(ahead / 1000)))
end
return {taken, ahead}
