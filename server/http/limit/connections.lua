-- Records how many connections a user has on one node, unless those of all nodes
-- would exceed a limit.
-- KEYS[1] a hash: for each node the milliseconds of this server's clock at which its
--         lease ends, the number of its last record, and its connections
-- ARGV    node, number of this record, connections, milliseconds of the lease,
--         limit (0: none)
-- Returns 1 if it was within the limit, else 0; and the connections of other nodes.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local node, number, count, lease, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local others, last = 0, 0
local records = redis.call('HGETALL', KEYS[1])
for i = 1, #records, 2 do
  local ends, before, open = string.match(records[i + 1], '^(%d+) (%d+) (%d+)$')
  ends = tonumber(ends or 0)
  if records[i] == node then
    last = tonumber(before or 0)
  elseif ends > now and ends <= now + lease then
    others = others + tonumber(open)
  else -- a node that died, or the clock was set back
    redis.call('HDEL', KEYS[1], records[i])
  end
end
if limit > 0 and others + count > limit then
  return {0, others}
end
if number > last then -- else a later record has arrived before
  if count == 0 then
    redis.call('HDEL', KEYS[1], node)
  else
    redis.call('HSET', KEYS[1], node, string.format('%.0f %.0f %.0f', now + lease, number, count))
  end
  redis.call('PEXPIRE', KEYS[1], lease)
end
return {1, others}
