-- Gives one request back in those of its windows that are still the current ones.
--
-- KEYS[1], KEYS[2]  as for take.lua
-- ARGV[1]  three doubles: the term, the minute and the day in which it was counted
-- ARGV[2]  the tenant's ID, published to all servers: they forget its denials
--
-- No count falls below zero. What has expired is not created again: its window is over.
local state = redis.call('GET', KEYS[1])
if not state then return 0 end
local term, version, minute, minuteUsed, day, dayUsed = struct.unpack('<dddddd', state)
local t, m, d = struct.unpack('<ddd', ARGV[1])
if term ~= t then return 0 end
if minute == m then minuteUsed = math.max(0, minuteUsed - 1) end
if day == d then dayUsed = math.max(0, dayUsed - 1) end
redis.call('SETRANGE', KEYS[1], 16, struct.pack('<dddd', minute, minuteUsed, day, dayUsed))
local own = KEYS[2] and redis.call('GET', KEYS[2])
if own then
  local ownTerm, ownMinute, ownUsed = struct.unpack('<ddd', own)
  if ownTerm == t and ownMinute == m then
    redis.call('SETRANGE', KEYS[2], 16, struct.pack('<d', math.max(0, ownUsed - 1)))
  end
end
redis.call('PUBLISH', 'pst:refunds', ARGV[2])
return 1
