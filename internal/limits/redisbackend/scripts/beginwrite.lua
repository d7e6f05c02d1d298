-- Leaves a write intent: the tenant's catalogue is about to change, under a new version.
--
-- KEYS[1]  the tenant's state, as take.lua has it
-- ARGV[1]  the term, a double
-- ARGV[2]  after how many seconds the intent is over by itself
-- Returns the version, 0 if the tenant was not initialized in that term, or the negative of the later term in which it was.
local state = redis.call('GET', KEYS[1])
local t = struct.unpack('<d', ARGV[1])
local term = state and struct.unpack('<d', state) or 0
if term ~= t then return term > t and -term or 0 end
local version, intents = struct.unpack('<d', state, 9) + 1, struct.unpack('<d', state, 73)
local now, first = tonumber(redis.call('TIME')[1]), 81 + 16 * intents
local changes = {struct.pack('<dd', version, now + ARGV[2])}
for at = 81, first - 1, 16 do
  local change = string.sub(state, at, at + 15)
  if struct.unpack('<d', change, 9) >= now then changes[#changes + 1] = change end
end
redis.call('SET', KEYS[1], string.sub(state, 1, 8) .. struct.pack('<d', version) .. string.sub(state, 17, 72)
  .. struct.pack('<d', #changes) .. table.concat(changes) .. string.sub(state, first), 'KEEPTTL')
return version
