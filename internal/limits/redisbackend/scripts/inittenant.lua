-- Begins a tenant's count in a term, unless it has begun in this or a later one.
--
-- KEYS[1]  the tenant's state, as take.lua has it
-- ARGV[1]  six doubles: term, minute, used in it, day, used in it, and 1 if servers may be writing to the catalogue, else 0
-- ARGV[2]  for how many seconds they may
-- Returns the later term in which the tenant's count has begun, 0 for none.
--
-- The state lives for forty days after the last new day. Its expiry frees memory and decides nothing.
local t, minute, minuteUsed, day, dayUsed, changing = struct.unpack('<dddddd', ARGV[1])
local state = redis.call('GET', KEYS[1])
local term = state and struct.unpack('<d', state) or 0
if term >= t then return term > t and term or 0 end
state = struct.pack('<dddddddd', t, 1, minute, minuteUsed, day, dayUsed, minute, changing)
if changing > 0 then state = state .. struct.pack('<dd', 0, redis.call('TIME')[1] + ARGV[2]) end
redis.call('SET', KEYS[1], state, 'EX', 3456000)
return 0
