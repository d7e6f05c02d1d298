-- Does what the other scripts do: a Redis that only answers reads, or whose user lacks a right, is not healthy. What it publishes is no
-- tenant's ID, and so tells nobody anything.
--
-- KEYS[1]  a key
-- ARGV[1]  the channel of refunds
--
-- Redis does not say which command of a script its user may not run, so this script does.
local key = KEYS[1]
for _, command in ipairs({{'TIME'}, {'GET', key}, {'SET', key, 1, 'EX', 60}, {'SET', key, 1, 'KEEPTTL'}, {'SETRANGE', key, 0, '1'},
  {'EXPIRE', key, 60}, {'PUBLISH', ARGV[1], ''}}) do
  local reply = redis.pcall(unpack(command))
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'executing the script') or string.find(reply.err, 'NOPERM') then
      return redis.error_reply("NOPERM in a script, for '" .. command[1] .. "': " .. reply.err)
    end
    return reply
  end
end
return 1
