-- Sends the request with each of the credentials in turn, each thread with some of them; or with any of them at random, and then some of a
-- hundred are POSTs to the path. All requests are formatted before the run.
local requests, posts, last = {}, {}, 0

function init()
  math.randomseed(os.time() * threads + number)
  local first, step = number + 1, threads
  if random then first, step = 1, 1 end
  for i = first, #credentials, step do
    wrk.headers["Authorization"] = credentials[i]
    requests[#requests + 1] = wrk.format()
    if percent > 0 then
      wrk.headers["Content-Type"] = "application/json"
      posts[#posts + 1] = wrk.format("POST", string.match(wrk.path, "^[^?]*"), nil, post)
      wrk.headers["Content-Type"] = nil
    end
  end
end

function request()
  if random then
    local kind = requests
    if math.random(100) <= percent then kind = posts end
    return kind[math.random(#kind)]
  end
  last = last % #requests + 1
  return requests[last]
end
