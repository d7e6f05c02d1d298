-- Does what the other scripts do: a Redis that only answers reads, or that has a right less for its user, is not a healthy one. What
-- it publishes is no tenant's id, and so tells nobody anything.
redis.call('TIME')
redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], 1, 'EX', 60)
redis.call('SETRANGE', KEYS[1], 0, '1')
redis.call('EXPIRE', KEYS[1], 60)
redis.call('PUBLISH', 'pst:refunds', '')
return 1
