-- Gives one request back in those of its windows that are still the current ones.
--
-- KEYS[1]  the tenant's state, as take.lua has it
-- ARGV[1]  four doubles: the term, and the minute, day and month in which it was counted, 0 for no month; then the key's name in 16 bytes, if it has a limit
-- ARGV[2]  the tenant's ID, published to all servers: they forget its denials
-- ARGV[3]  the channel
--
-- No count falls below zero. What has expired is not created again: its window is over.
local state = redis.call('GET', KEYS[1])
if not state then return 0 end
local term, version, minute, minuteUsed, day, dayUsed, month, monthUsed, initialized, intents = struct.unpack('<dddddddddd', state)
local t, m, d, inMonth = struct.unpack('<dddd', ARGV[1])
local name = string.sub(ARGV[1], 33)
if term ~= t then return 0 end
if minute == m then minuteUsed = math.max(0, minuteUsed - 1) end
if day == d then dayUsed = math.max(0, dayUsed - 1) end
if month == inMonth then monthUsed = math.max(0, monthUsed - 1) end
redis.call('SETRANGE', KEYS[1], 16, struct.pack('<dddddd', minute, minuteUsed, day, dayUsed, month, monthUsed))
if name ~= '' and minute == m then
  for at = 81 + 16 * intents, #state, 24 do
    if string.sub(state, at, at + 15) == name then
      local own = struct.unpack('<d', state, at + 16)
      if own > 0 then redis.call('SETRANGE', KEYS[1], at + 15, struct.pack('<d', own - 1)) end
    end
  end
end
redis.call('PUBLISH', ARGV[3], ARGV[2])
return 1
