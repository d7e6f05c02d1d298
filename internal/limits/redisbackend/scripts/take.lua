-- Counts requests of claims: of each claim as many as fit into every one of its windows.
--
-- KEYS     the tenant's state of each claim
-- ARGV[1]  a double, the term; then for each claim seven: minute, day, the limits of the minute, the day and the key (0 for none), how
--          many requests (0 only looks), and 1 if an earlier claim is of the same tenant, else 0; then the key's name in 16 bytes, if the
--          key has a limit
-- Returns what was there before each claim, joined: the first eight doubles of the tenant's state, with version 0 while its catalogue is
-- written to, and zeros if there is no state; and if the key has a limit, a double: what it used of the state's minute, or -1 if the state
-- does not say. The caller decides from it as this script does.
--
-- The state is eight doubles: term, version, minute, used in it, day, used in it, the minute in which the tenant was initialized, and the
-- number of write intents. Then come two doubles for each write intent: its version, and the Unix second after which it is over. Then come
-- 24 bytes for each key with a limit that was used in the state's minute: its name, and a double, what it used. All of it is one
-- value, so that Redis has all of it or nothing: it may evict any value at any time.
--
-- Nothing is counted for a tenant that was not initialized in the term, nor for a key that was not in the minute in which the tenant was.
-- A window never moves back: a request of a server whose clock is late counts in the later one. Packed numbers take two thirds of the
-- time of a hash, and are exact up to 2^53. One claim takes Redis 16 µs, most of it for the call; each of 64 takes 2.4. Without MGET it
-- is 2.8, and 3.4 if the script packs its result. SETRANGE is a third of it: it keeps the time to live, which MSET does not.
local states = #KEYS > 1 and #KEYS < 4000 and redis.pcall('MGET', unpack(KEYS))
local pack, unpack, call, min, sub = struct.pack, struct.unpack, redis.call, math.min, string.sub
local keys, claims, now, result = KEYS, ARGV[1], nil, nil
if not states or states.err then -- One key, more than Lua's stack takes, or a user without the right to MGET.
  states = {}
  for i = 1, #keys do states[i] = call('GET', keys[i]) end
end

local t, at = unpack('<d', claims)
for i = 1, #keys do
  local m, d, perMinute, perDay, perKey, count, again
  m, d, perMinute, perDay, perKey, count, again, at = unpack('<ddddddd', claims, at)
  local tenant, own = keys[i], nil
  if again > 0 then states[i] = call('GET', tenant) end
  local state = states[i]
  local term, version, minute, minuteUsed, day, dayUsed, initialized, intents
  if state then term, version, minute, minuteUsed, day, dayUsed, initialized, intents = unpack('<dddddddd', state) end

  local name, first, found, ownUsed -- The key's name, where the keys begin and where this one is, and what it used.
  if perKey > 0 then
    name, at = sub(claims, at, at + 15), at + 16
    if state then
      first = 65 + 16 * intents
      for k = first, #state, 24 do
        if sub(state, k, k + 15) == name then found, ownUsed = k, unpack('<d', state, k + 16) end
      end
    end
    own = ownUsed or -1
  end

  if term == t then
    local newMinute, newDay = minute < m, day < d
    if newMinute then minute, minuteUsed, ownUsed = m, 0, 0 end
    if newDay then day, dayUsed = d, 0 end
    local room = min(count, perMinute - minuteUsed, perDay - dayUsed)
    if name then
      if not ownUsed and initialized == minute then room = 0 end
      ownUsed = ownUsed or 0
      room = min(room, perKey - ownUsed)
    end
    if room > 0 then
      local counts = pack('<dddd', minute, minuteUsed + room, day, dayUsed + room)
      first = first or newMinute and 65 + 16 * intents
      if not name and not (newMinute and #state >= first) then
        call('SETRANGE', tenant, '16', counts)
      else
        local before, after = sub(state, 49, newMinute and first - 1 or found and found - 1), ''
        if found and not newMinute then after = sub(state, found + 24) end
        if name then before = before .. name .. pack('<d', ownUsed + room) end
        call('SET', tenant, sub(state, 1, 16) .. counts .. before .. after, 'KEEPTTL')
      end
      if newDay then call('EXPIRE', tenant, '3456000') end
    end
  end

  if not state then
    states[i] = pack('<dddddddd', 0, 0, 0, 0, 0, 0, 0, 0)
  elseif #state > 64 then
    local seen = sub(state, 9, 16)
    for change = 73, 57 + 16 * intents, 16 do
      now = now or tonumber(call('TIME')[1])
      if unpack('<d', state, change) >= now then seen = pack('<d', 0) end
    end
    states[i] = sub(state, 1, 8) .. seen .. sub(state, 17, 64)
  end
  if own then states[i] = states[i] .. pack('<d', own) end
end
return table.concat(states)
