-- Counts requests of claims in all of their windows, of each claim as many as fit into every one of its windows.
--
-- KEYS     for each claim the tenant's state, and after it the key's own minute when the key has a limit
-- ARGV[1]  a double, the term; then for each claim seven: minute, day, the limits of the minute, the day and the key (0 for none), how
--          many requests, of which 0 only looks, and 1 when a claim before it is of the same tenant, else 0
-- Returns what was in KEYS before each claim, joined: of a tenant's state its first seven doubles, with 0 for the version while the
-- catalogue changes, and zeros for what is missing. Who asks reads the same from it as this script.
--
-- The state is seven doubles, term, version, minute, used in it, day, used in it, the minute in which the tenant was opened; then
-- two for each change of its catalogue that is under way, its version, and the Unix second after which it is over. A key's own
-- minute is three doubles: term, minute, used in it.
--
-- Nothing is counted for a tenant that was not opened in the term, nor for a key that was not in the minute in which the tenant was.
-- A window never moves back: a request of a server whose clock is late counts in the later one. Packed numbers take two thirds
-- of the time of a hash, and are exact up to 2^53. One claim takes Redis 16 µs, most of them the call's; each of 64 takes 2.4. Without
-- MGET it is 2.8, and 3.4 when the script packs what it tells. SETRANGE is a third: it keeps the time to live, as MSET would not.
local states = #KEYS > 1 and #KEYS < 4000 and redis.pcall('MGET', unpack(KEYS))
local pack, unpack, call, min, sub = struct.pack, struct.unpack, redis.call, math.min, string.sub
local keys, claims, key, now = KEYS, ARGV[1], 1, nil
if not states or states.err then -- One key; more than Lua's stack takes; a user with the right to GET and not to MGET.
  states = {}
  for i = 1, #keys do states[i] = call('GET', keys[i]) end
end

local t, at = unpack('<d', claims)
while at < #claims do
  local m, d, perMinute, perDay, perKey, count, again
  m, d, perMinute, perDay, perKey, count, again, at = unpack('<ddddddd', claims, at)
  local tenant, own = keys[key], perKey > 0 and keys[key + 1]
  if again > 0 then
    states[key] = call('GET', tenant)
    if own then states[key + 1] = call('GET', own) end
  end
  local state, ownState = states[key], own and states[key + 1]
  local term, version, minute, minuteUsed, day, dayUsed, opened
  if state then term, version, minute, minuteUsed, day, dayUsed, opened = unpack('<ddddddd', state) end
  if term == t then
    if minute < m then minute, minuteUsed = m, 0 end
    local newDay = day < d
    if newDay then day, dayUsed = d, 0 end
    local room = min(count, perMinute - minuteUsed, perDay - dayUsed)
    local ownTerm, ownMinute, ownUsed
    if own then
      if ownState then ownTerm, ownMinute, ownUsed = unpack('<ddd', ownState) end
      if ownTerm ~= term or ownMinute ~= minute then
        ownUsed = 0
        if opened == minute then room = 0 end
      end
      room = min(room, perKey - ownUsed)
    end
    if room > 0 then
      call('SETRANGE', tenant, '16', pack('<dddd', minute, minuteUsed + room, day, dayUsed + room))
      if newDay then call('EXPIRE', tenant, '3456000') end
      if own then call('SET', own, pack('<ddd', term, minute, ownUsed + room), 'EX', '300') end
    end
  end
  if not state then
    states[key] = pack('<ddddddd', 0, 0, 0, 0, 0, 0, 0)
  elseif #state > 56 then
    local seen = sub(state, 9, 16)
    for change = 65, #state, 16 do
      now = now or tonumber(call('TIME')[1])
      if unpack('<d', state, change) >= now then seen = pack('<d', 0) end
    end
    states[key] = sub(state, 1, 8) .. seen .. sub(state, 17, 56)
  end
  if own and not ownState then states[key + 1] = pack('<ddd', 0, 0, 0) end
  key = key + (own and 2 or 1)
end
return table.concat(states)
