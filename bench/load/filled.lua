-- Sends requests that differ: with a random credential, an {id} of count IDs at random, and another {n} each time; or, if the IDs have owners,
-- with each ID in turn and its owner's credential. With run set, each has an Idempotency-Key of its own. Each thread has some of them.
local last

function init()
  math.randomseed(os.time() * threads + number)
  last = number - threads
end

function request()
  last = last + threads
  local at, who = math.random(0, count - 1), math.random(#credentials)
  if owners then
    at = last % count
    who = owners[at + 1]
  end
  wrk.headers["Authorization"] = credentials[who]
  if run then wrk.headers["Idempotency-Key"] = string.format("%s-%d", run, last) end
  local values = { id = string.format("%d", first + at), n = string.format("%d", n + last % 1000000) }
  return wrk.format(nil, string.gsub(path, "{(%a+)}", values), nil, (string.gsub(body, "{(%a+)}", values)))
end
