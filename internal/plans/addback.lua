-- Tells Redis what one server knows of a tenant after an outage: what it had seen used before, and what it admitted
-- meanwhile. Applied at most once.
--
-- KEYS[1], KEYS[2]  the counters of the minute and of the day
-- KEYS[3], KEYS[4]  what each of the two was raised to after a loss
-- KEYS[5]           the number of the last batch applied for this tenant by this server
-- ARGV[1], ARGV[2]  how many requests to add to the minute and to the day
-- ARGV[3], ARGV[4]  how much of each the server had seen used
-- ARGV[5]           the number of this batch; a server counts its batches upwards
-- Returns what is used in the minute and in the day now.
--
-- A Redis that lost its counters, all or the latest, has less than the servers have seen. Each of them raises a counter
-- by as much as it has seen more than those before it, apart from what is added: the order of the servers does not matter.
--
-- A batch is sent again when its reply was lost: KEYS[5] tells whether it had been applied. It is written even when
-- there is nothing to add, so that a Redis that only answers reads is not taken for a healthy one.
local ttl = {300, 172800}
if tonumber(redis.call('GET', KEYS[5]) or 0) < tonumber(ARGV[5]) then
  redis.call('SET', KEYS[5], ARGV[5], 'EX', ttl[2])
  for i = 1, 2 do
    local add, seen = tonumber(ARGV[i]), tonumber(ARGV[i + 2])
    local known = tonumber(redis.call('GET', KEYS[i + 2]) or redis.call('GET', KEYS[i]) or 0)
    if seen > known then
      redis.call('SET', KEYS[i + 2], seen, 'EX', ttl[i])
      add = add + seen - known
    end
    if add > 0 then
      redis.call('INCRBY', KEYS[i], add)
      redis.call('EXPIRE', KEYS[i], ttl[i])
    end
  end
end
local used = redis.call('MGET', KEYS[1], KEYS[2])
return {tonumber(used[1] or 0), tonumber(used[2] or 0)}
