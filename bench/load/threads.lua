-- Numbers the threads from 0, as number.
local started = 0

function setup(thread)
  thread:set("number", started)
  started = started + 1
end
