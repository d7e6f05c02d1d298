-- Counts requests of claims: of each claim as many as fit into every one of its windows.
--
-- KEYS     for each claim the tenant's state, followed by the key's own minute if the key has a limit
-- ARGV[1]  a double, the term; then for each claim seven: minute, day, the limits of the minute, the day and the key (0 for none), how
--          many requests (0 only looks), and 1 if an earlier claim is of the same tenant, else 0
-- Returns what was in KEYS before each claim, joined: the first seven doubles of a tenant's state, with version 0 while its catalogue is
-- written to, and zeros for what is missing. The caller decides from it as this script does.
--
-- The state is seven doubles: term, version, minute, used in it, day, used in it, the minute in which the tenant was initialized; then
-- two for each write intent: its version, and the Unix second after which it is over. A key's own minute is three doubles: term, minute,
-- used in it.
--
-- Nothing is counted for a tenant that was not initialized in the term, nor for a key that was not in the minute in which the tenant was.
-- A window never moves back: a request of a server whose clock is late counts in the later one. Packed numbers take two thirds of the
-- time of a hash, and are exact up to 2^53. One claim takes Redis 16 µs, most of it for the call; each of 64 takes 2.4. Without MGET it
-- is 2.8, and 3.4 if the script packs its result. SETRANGE is a third of it: it keeps the time to live, which MSET does not.
local states = #KEYS > 1 and #KEYS < 4000 and redis.pcall('MGET', unpack(KEYS))
local pack, unpack, call, min, sub = struct.pack, struct.unpack, redis.call, math.min, string.sub
local keys, claims, key, now = KEYS, ARGV[1], 1, nil
if not states or states.err then -- One key, more than Lua's stack takes, or a user without the right to MGET.
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
  local term, version, minute, minuteUsed, day, dayUsed, initialized
  if state then term, version, minute, minuteUsed, day, dayUsed, initialized = unpack('<ddddddd', state) end
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
        if initialized == minute then room = 0 end
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
