-- Sends the request with an Idempotency-Key that no other has. run differs between runs.
local last = 0

function request()
  last = last + 1
  wrk.headers["Idempotency-Key"] = string.format("%s-%d-%d", run, number, last)
  return wrk.format()
end
