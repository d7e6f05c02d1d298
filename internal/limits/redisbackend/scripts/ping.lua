-- Does what the other scripts do: a Redis that only answers reads, or whose user lacks a right, is not healthy. What it publishes is no
-- tenant's ID, and so tells nobody anything.
--
-- KEYS[1]  a key
-- ARGV[1]  the channel of refunds
redis.call('TIME')
redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], 1, 'EX', 60)
redis.call('SET', KEYS[1], 1, 'KEEPTTL')
redis.call('SETRANGE', KEYS[1], 0, '1')
redis.call('EXPIRE', KEYS[1], 60)
redis.call('PUBLISH', ARGV[1], '')
return 1
