-- Begins a key's count in the minute in which the tenant's state is, unless it has begun. It begins at what the key used in an earlier term,
-- if that is more.
--
-- KEYS[1]  the tenant's state, as take.lua has it
-- ARGV[1]  three doubles: term, minute, used in it; then the key's name in 16 bytes
--
-- It does nothing in an earlier minute. In a later one, which this Redis has counted by a clock that is ahead, nothing is recorded, and the key
-- begins at 0.
local t, m, used = struct.unpack('<ddd', ARGV[1])
local name = string.sub(ARGV[1], 25)
local state = redis.call('GET', KEYS[1])
if not state then return 0 end
local term, version, minute, minuteUsed, day, dayUsed, month, monthUsed, initialized, intents = struct.unpack('<dddddddddd', state)
if term ~= t or minute < m then return 0 end
if minute > m then used = 0 end
for at = 81 + 16 * intents, #state, 24 do
  if string.sub(state, at, at + 15) == name then
    local own = struct.unpack('<d', state, at + 16)
    if own < 0 then redis.call('SETRANGE', KEYS[1], at + 15, struct.pack('<d', math.max(used, -own - 1))) end
    return 0
  end
end
redis.call('SETRANGE', KEYS[1], #state, name .. struct.pack('<d', used))
return 1
