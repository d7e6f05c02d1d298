-- Leaves a write intent: the tenant's catalogue is about to change, under a new version.
--
-- KEYS[1]  the tenant's state, as take.lua has it
-- ARGV[1]  the term, a double
-- ARGV[2]  after how many seconds the intent is over by itself
-- Returns the version, or 0 if the tenant was not initialized in that term.
local state = redis.call('GET', KEYS[1])
if not state or struct.unpack('<d', state) ~= struct.unpack('<d', ARGV[1]) then return 0 end
local version, now = struct.unpack('<d', state, 9) + 1, tonumber(redis.call('TIME')[1])
local changes = {struct.pack('<dd', version, now + ARGV[2])}
for at = 57, #state, 16 do
  local change = string.sub(state, at, at + 15)
  if struct.unpack('<d', change, 9) >= now then changes[#changes + 1] = change end
end
redis.call('SET', KEYS[1], string.sub(state, 1, 8) .. struct.pack('<d', version) .. string.sub(state, 17, 56)
  .. table.concat(changes), 'KEEPTTL')
return version
