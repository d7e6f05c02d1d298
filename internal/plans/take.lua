-- Counts one request of a tenant in both of its windows, or, when either is full, in neither.
--
-- KEYS[1], KEYS[2]  the counters of the minute and of the day; each is named by its window's number
-- ARGV[1], ARGV[2]  the limit of the minute and of the day
-- Returns what was used in the minute and in the day before this request. The caller decides from these two numbers
-- as the script does, so the answer need not say it.
--
-- A counter lives five minutes, two days after it last counted: long after its window has closed on every clock, so
-- its end frees memory and decides nothing.
local used = redis.call('MGET', KEYS[1], KEYS[2])
local minute, day = tonumber(used[1] or 0), tonumber(used[2] or 0)
if minute < tonumber(ARGV[1]) and day < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], minute + 1, 'EX', 300)
  redis.call('SET', KEYS[2], day + 1, 'EX', 172800)
end
return {minute, day}
