-- Begins a tenant's count in a term, unless it has begun in this or a later one. What this Redis counted in an earlier term stays counted, if
-- it is more: the records may have been set back. It does not in windows that have not begun: a clock was wrong. What keys used in the minute is kept as negative numbers, -1 - used: their counts have not
-- begun in this term.
--
-- KEYS[1]  the tenant's state, as take.lua has it
-- ARGV[1]  eleven doubles: term, minute, used in it, day, used in it, month, used in it, the latest minute, day and month that have begun, and
--          1 if servers may be writing to the catalogue, else 0
-- ARGV[2]  for how many seconds they may
-- Returns the later term in which the tenant's count has begun, 0 for none.
--
-- The state lives for forty days after the last new day. Its expiry frees memory and decides nothing.
local t, minute, minuteUsed, day, dayUsed, month, monthUsed, lastMinute, lastDay, lastMonth, changing = struct.unpack('<ddddddddddd', ARGV[1])
local state = redis.call('GET', KEYS[1])
local term = state and struct.unpack('<d', state) or 0
if term >= t then return term > t and term or 0 end
local keys = ''
if state then
  local _, _, m, mUsed, d, dUsed, mo, moUsed, _, intents = struct.unpack('<dddddddddd', state)
  if m > minute and m <= lastMinute then minute, minuteUsed = m, 0 end
  if m == minute then
    minuteUsed = math.max(minuteUsed, mUsed)
    for at = 81 + 16 * intents, #state, 24 do
      local own = struct.unpack('<d', state, at + 16)
      keys = keys .. string.sub(state, at, at + 15) .. struct.pack('<d', own < 0 and own or -1 - own)
    end
  end
  if d > day and d <= lastDay then day, dayUsed = d, 0 end
  if d == day then dayUsed = math.max(dayUsed, dUsed) end
  if mo > month and mo <= lastMonth then month, monthUsed = mo, 0 end
  if mo == month then monthUsed = math.max(monthUsed, moUsed) end
end
state = struct.pack('<dddddddddd', t, 1, minute, minuteUsed, day, dayUsed, month, monthUsed, minute, changing)
if changing > 0 then state = state .. struct.pack('<dd', 0, redis.call('TIME')[1] + ARGV[2]) end
redis.call('SET', KEYS[1], state .. keys, 'EX', 3456000)
return 0
