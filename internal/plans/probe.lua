-- Writes something, as a decision does: a Redis that only answers reads is not a healthy one.
redis.call('SET', KEYS[1], 1, 'EX', 60)
return 1
