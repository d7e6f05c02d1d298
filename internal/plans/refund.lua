-- Gives one request back in both of its windows.
--
-- KEYS[1], KEYS[2]  the counters of the minute and of the day in which it was counted
-- Returns what is used in them after it.
--
-- A counter never falls below zero, and one that has expired stays away, for its window is over. DECR keeps the time to
-- live.
local used = {}
for i, key in ipairs(KEYS) do
  used[i] = tonumber(redis.call('GET', key) or 0)
  if used[i] > 0 then
    used[i] = redis.call('DECR', key)
  end
end
return used
