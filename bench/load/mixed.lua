-- Sends a list or a POST, with any of the credentials. All requests are formatted before the run.
local lists, posts = {}, {}

function init()
  math.randomseed(os.time())
  local path = wrk.path
  for i, credential in ipairs(credentials) do
    wrk.headers["Authorization"] = credential
    wrk.method, wrk.path, wrk.body, wrk.headers["Content-Type"] = "GET", path, nil, nil
    lists[i] = wrk.format()
    wrk.headers["Content-Type"] = "application/json"
    posts[i] = wrk.format("POST", string.match(path, "^[^?]*"), nil, body)
  end
end

function request()
  local kind = lists
  if math.random(100) <= writes then kind = posts end
  return kind[math.random(#kind)]
end
