-- Sends the request with each of the credentials in turn. All requests are formatted before the run.
local requests, last = {}, 0

function init()
  for i, credential in ipairs(credentials) do
    wrk.headers["Authorization"] = credential
    requests[i] = wrk.format()
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end
