-- Sends the request with each of the credentials in turn. Each thread has some of them. All requests are formatted before the run.
local requests, last = {}, 0

function init()
  for i = number + 1, #credentials, threads do
    wrk.headers["Authorization"] = credentials[i]
    requests[#requests + 1] = wrk.format()
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end
