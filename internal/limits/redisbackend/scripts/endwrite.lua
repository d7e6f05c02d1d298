-- Removes a write intent.
--
-- KEYS[1]  the tenant's state, as take.lua has it
-- ARGV[1]  two doubles: the term, and the version that beginwrite.lua returned
local state = redis.call('GET', KEYS[1])
local t, version = struct.unpack('<dd', ARGV[1])
if not state or struct.unpack('<d', state) ~= t then return 0 end
local intents = struct.unpack('<d', state, 57)
for at = 65, 64 + 16 * intents, 16 do
  if struct.unpack('<d', state, at) == version then
    redis.call('SET', KEYS[1], string.sub(state, 1, 56) .. struct.pack('<d', intents - 1)
      .. string.sub(state, 65, at - 1) .. string.sub(state, at + 16), 'KEEPTTL')
    return 1
  end
end
return 0
