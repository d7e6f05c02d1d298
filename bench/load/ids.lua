-- Sends the request with each of count IDs in turn, and with another n each time. Each thread has some of the IDs.
local last

function init()
  last = number - threads
end

function request()
  last = last + threads
  local values = { id = string.format("%d", first + last % count), n = string.format("%d", n + last % 1000000) }
  return wrk.format(nil, string.gsub(path, "{(%a+)}", values), nil, (string.gsub(body, "{(%a+)}", values)))
end
