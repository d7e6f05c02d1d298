-- Sends so many requests per second, each thread its part of them. A connection that has its response waits, to the millisecond, until the next
-- request is due that no other connection waits for; when all connections were busy for too long it is due already.
local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds, nanos; } bench_time; int clock_gettime(int, bench_time *);")
local time, due = ffi.new("bench_time")
local interval = 1000 * threads / rate

function delay()
  ffi.C.clock_gettime(1, time)
  local now = tonumber(time.seconds) * 1000 + tonumber(time.nanos) / 1e6
  due = (due or now + interval * (number / threads - 1)) + interval
  return math.max(0, math.floor(due - now + 0.5))
end
