-- Tells Redis what one server knows of a tenant after an outage: what it had seen used before, and what it admitted
-- meanwhile. Applied at most once.
--
-- KEYS[1], KEYS[2]  the counters of the minute and of the day
-- KEYS[3], KEYS[4]  what each of the two was raised to lately
-- KEYS[5]           the number of the last batch applied for this tenant by this server
-- ARGV[1], ARGV[2]  how many requests to add to the minute and to the day
-- ARGV[3], ARGV[4]  how much of each the server had seen used
-- ARGV[5]           the number of this batch; a server counts its batches upwards
-- Returns what is used in the minute and in the day now.
--
-- A batch is sent again when its reply was lost: KEYS[5] tells whether it had been applied. It is written even when
-- there is nothing to add, so that a Redis that only answers reads is not taken for a healthy one.
--
-- A Redis that lost its counters, all or the latest, has less than the servers have seen. One after the other they tell
-- it so, and it must come out as the most that any has seen, and on top of it all that was added: a server that this
-- Redis does not know raises the counter by as much as it has seen more than those just before it. A counter that was
-- not raised within the last half minute, or not since it heard of this server, has all that was added in what was seen.
local ttl = {300, 172800}
local told = redis.call('GET', KEYS[5])
if tonumber(told or 0) < tonumber(ARGV[5]) then
  redis.call('SET', KEYS[5], ARGV[5], 'EX', ttl[2])
  for i = 1, 2 do
    local add, seen = tonumber(ARGV[i]), tonumber(ARGV[i + 2])
    local raised = not told and redis.call('GET', KEYS[i + 2])
    local known = tonumber(raised or redis.call('GET', KEYS[i]) or 0)
    if seen > known then
      redis.call('SET', KEYS[i + 2], seen, 'EX', 30)
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
