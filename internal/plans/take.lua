-- Counts requests of one claim in all of its windows, as many as fit into every one.
--
-- KEYS[1]  the tenant's state: seven doubles, term, version, minute, used in it, day, used in it, the minute in which the tenant
--          was opened; then two for each change of its catalogue that is under way, its version, and the Unix second after
--          which it is over
-- KEYS[2]  the key's own minute, absent when it has no limit: three doubles, term, minute, used in it
-- ARGV[1]  seven doubles: term, minute, day, the limits of the minute, the day and the key, how many requests; 0 only looks
-- Returns six doubles: what was used in the minute, the day and the key's minute before, the numbers of the minute and the day
-- that the requests count in, and the version, 0 while the catalogue changes. Or 0 when the tenant was not opened in that
-- term, 1 when the key was not opened in the minute in which the tenant was.
--
-- A window never moves back: a request of a server whose clock is late counts in the later one. Packed numbers take two thirds
-- of the time of a hash, and are exact up to 2^53.
local state = redis.call('GET', KEYS[1])
if not state then return 0 end
local term, version, minute, minuteUsed, day, dayUsed, opened = struct.unpack('<ddddddd', state)
local t, m, d, perMinute, perDay, perKey, count = struct.unpack('<ddddddd', ARGV[1])
if term ~= t then return 0 end
if minute < m then minute, minuteUsed = m, 0 end
local newDay = day < d
if newDay then day, dayUsed = d, 0 end
local room, keyUsed = math.min(count, perMinute - minuteUsed, perDay - dayUsed), 0
if KEYS[2] then
  local own = redis.call('GET', KEYS[2])
  local ownTerm, ownMinute, ownUsed
  if own then ownTerm, ownMinute, ownUsed = struct.unpack('<ddd', own) end
  if ownTerm == term and ownMinute == minute then
    keyUsed = ownUsed
  elseif opened == minute then
    return 1
  end
  room = math.min(room, perKey - keyUsed)
end
if room > 0 then
  redis.call('SETRANGE', KEYS[1], 16, struct.pack('<dddd', minute, minuteUsed + room, day, dayUsed + room))
  if newDay then redis.call('EXPIRE', KEYS[1], 3456000) end
  if KEYS[2] then redis.call('SET', KEYS[2], struct.pack('<ddd', term, minute, keyUsed + room), 'EX', 300) end
end
if #state > 56 then
  local now = tonumber(redis.call('TIME')[1])
  for at = 65, #state, 16 do
    if struct.unpack('<d', state, at) >= now then version = 0 end
  end
end
return struct.pack('<dddddd', minuteUsed, dayUsed, keyUsed, minute, day, version)
