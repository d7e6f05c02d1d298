-- Adds to both windows of a tenant what one server admitted while it could not reach Redis. Applied at most once.
--
-- KEYS[1], KEYS[2]  the counters of the minute and of the day
-- KEYS[3]           the number of the last batch applied for this tenant by this server
-- ARGV[1], ARGV[2]  how many requests to add to the minute and to the day
-- ARGV[3]           the number of this batch; a server counts its batches upwards
-- Returns what is used in the minute and in the day now.
--
-- A batch is sent again when its reply was lost: KEYS[3] tells whether it had been applied. It is written even when
-- there is nothing to add, so that a Redis that only answers reads is not taken for a healthy one.
local last = tonumber(redis.call('GET', KEYS[3]) or 0)
if last < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[3], ARGV[3], 'EX', 172800)
  for i, ttl in ipairs({300, 172800}) do
    if tonumber(ARGV[i]) > 0 then
      redis.call('INCRBY', KEYS[i], ARGV[i])
      redis.call('EXPIRE', KEYS[i], ttl)
    end
  end
end
local used = redis.call('MGET', KEYS[1], KEYS[2])
return {tonumber(used[1] or 0), tonumber(used[2] or 0)}
