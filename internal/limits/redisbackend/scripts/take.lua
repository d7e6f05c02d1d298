-- Ends writes, and then counts requests of claims: of each claim as many as fit into every one of its windows.
--
-- KEYS     the tenant's state of each claim, then that of each write that ends
-- ARGV[1]  a double, the term; then for each claim seven: minute, day, the limits of the minute, the day and the key (0 for none), how
--          many requests (0 only looks), and 1 if an earlier claim is of the same tenant, plus 2 if some of the requests will write to its
--          catalogue, plus 4 if they count in a month; then two doubles, the month and its limit, if they do; then the key's name in 16
--          bytes, if the key has a limit
-- ARGV[2]  a double for each write that ends: the version of its write intent. It and the next are left out if there are none, nor writes
-- ARGV[3]  after how many seconds a write intent is over by itself
-- Returns what was there before each claim, joined: the first ten doubles of the tenant's state, with version 0 while its catalogue is
-- written to, and zeros if there is no state; if the key has a limit, a double: what it used of the state's minute, or -1 if the state
-- does not say; and if requests will write, a double: the version of the write intent that was left for them, 0 for none. The caller
-- decides from it as this script does.
--
-- The state is ten doubles: term, version, minute, used in it, day, used in it, month, used in it, the minute in which the tenant was
-- initialized, and the number of write intents. Then come two doubles for each write intent: its version, and the Unix second after which it is over. Then come
-- 24 bytes for each key with a limit that was used in the state's minute: its name, and a double, what it used, or -1 - used if that was in
-- an earlier term. All of it is one
-- value, so that Redis has all of it or nothing: it may evict any value at any time.
--
-- Nothing is counted for a tenant that was not initialized in the term, nor for a key that was not in the minute in which the tenant was.
-- A write intent is left if any request of the claim is counted, and changes the version. No write ends in another term.
-- A window never moves back: a request of a server whose clock is late counts in the later one. Packed numbers take two thirds of the
-- time of a hash, and are exact up to 2^53. One claim takes Redis 16 µs, most of it for the call; each of 64 takes 2.4. Without MGET it
-- is 2.8, and 3.4 if the script packs its result. SETRANGE is a third of it: it keeps the time to live, which MSET does not.
local spread, pack, unpack, call, min, sub = unpack, struct.pack, struct.unpack, redis.call, math.min, string.sub
local keys, claims, ends, now = KEYS, ARGV[1], ARGV[2] or '', nil
local t, at = unpack('<d', claims)
local count = #keys - #ends / 8

for i = count + 1, #keys do
  local state, version = call('GET', keys[i]), unpack('<d', ends, 8 * (i - count) - 7)
  local intents = state and unpack('<d', state) == t and unpack('<d', state, 73) or 0
  for from = 81, 80 + 16 * intents, 16 do
    if unpack('<d', state, from) == version then
      call('SET', keys[i], sub(state, 1, 72) .. pack('<d', intents - 1) .. sub(state, 81, from - 1) .. sub(state, from + 16), 'KEEPTTL')
      break
    end
  end
end

local states = count > 1 and count < 4000 and redis.pcall('MGET', spread(keys, 1, count))
if not states or states.err then -- One key, more than Lua's stack takes, or a user without the right to MGET.
  states = {}
  for i = 1, count do states[i] = call('GET', keys[i]) end
end

for i = 1, count do
  local m, d, perMinute, perDay, perKey, requests, flags
  m, d, perMinute, perDay, perKey, requests, flags, at = unpack('<ddddddd', claims, at)
  local tenant, own, left, inMonth, perMonth = keys[i], nil, nil, nil, nil
  if flags >= 4 then
    flags = flags - 4
    inMonth, perMonth, at = unpack('<dd', claims, at)
  end
  if flags >= 2 then flags, left = flags - 2, 0 end
  if flags > 0 then states[i] = call('GET', tenant) end
  local state = states[i]
  local term, version, minute, minuteUsed, day, dayUsed, month, monthUsed, initialized, intents
  if state then term, version, minute, minuteUsed, day, dayUsed, month, monthUsed, initialized, intents = unpack('<dddddddddd', state) end

  local name, first, found, ownUsed -- The key's name, where the keys begin and where this one is, and what it used.
  if perKey > 0 then
    name, at = sub(claims, at, at + 15), at + 16
    if state then
      first = 81 + 16 * intents
      for k = first, #state, 24 do
        if sub(state, k, k + 15) == name then found, ownUsed = k, unpack('<d', state, k + 16) end
      end
    end
    if ownUsed and ownUsed < 0 then ownUsed = nil end -- It is of an earlier term.
    own = ownUsed or -1
  end

  if term == t then
    local newMinute, newDay = minute < m, day < d
    if newMinute then minute, minuteUsed, ownUsed = m, 0, 0 end
    if newDay then day, dayUsed = d, 0 end
    local room = min(requests, perMinute - minuteUsed, perDay - dayUsed)
    if inMonth then
      if month < inMonth then month, monthUsed = inMonth, 0 end
      room = min(room, perMonth - monthUsed)
    end
    if name then
      if not ownUsed and initialized == minute then room = 0 end
      ownUsed = ownUsed or 0
      room = min(room, perKey - ownUsed)
    end
    if room > 0 then
      local counts = pack('<dddddd', minute, minuteUsed + room, day, dayUsed + room, month, inMonth and monthUsed + room or monthUsed)
      first = 81 + 16 * intents
      if not name and not left and not (newMinute and #state >= first) then
        call('SETRANGE', tenant, '16', counts)
      else
        local head, fixed, before, after = sub(state, 1, 16), sub(state, 65, first - 1), '', ''
        if left then
          now, left = now or tonumber(call('TIME')[1]), version + 1
          local changes, some = pack('<dd', left, now + ARGV[3]), 1
          for from = 81, first - 1, 16 do
            if unpack('<d', state, from + 8) >= now then changes, some = changes .. sub(state, from, from + 15), some + 1 end
          end
          head, fixed = pack('<dd', term, left), pack('<dd', initialized, some) .. changes
        end
        if not newMinute then
          before = sub(state, first, found and found - 1)
          if found then after = sub(state, found + 24) end
        end
        if name then before = before .. name .. pack('<d', ownUsed + room) end
        call('SET', tenant, head .. counts .. fixed .. before .. after, 'KEEPTTL')
      end
      if newDay then call('EXPIRE', tenant, '3456000') end
    end
  end

  if not state then
    states[i] = pack('<dddddddddd', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  elseif #state > 80 then
    local seen = sub(state, 9, 16)
    for change = 89, 73 + 16 * intents, 16 do
      now = now or tonumber(call('TIME')[1])
      if unpack('<d', state, change) >= now then seen = pack('<d', 0) end
    end
    states[i] = sub(state, 1, 8) .. seen .. sub(state, 17, 80)
  end
  if own then states[i] = states[i] .. pack('<d', own) end
  if left then states[i] = states[i] .. pack('<d', left) end
end
return table.concat(states)
