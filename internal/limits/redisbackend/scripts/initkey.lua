-- Begins a key's count in a minute of a term, unless it has begun in this or a later one.
--
-- KEYS[1]  the key's own minute, as take.lua has it
-- ARGV[1]  three doubles: term, minute, used in it
local t, m = struct.unpack('<dd', ARGV[1])
local own = redis.call('GET', KEYS[1])
if own then
  local term, minute = struct.unpack('<dd', own)
  if term > t or term == t and minute >= m then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', 300)
return 1
