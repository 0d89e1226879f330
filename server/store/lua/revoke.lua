-- Notes that a token, or a patron's tokens so far, count no more, and sweeps out what no token can outlive.
-- keys     1 the sorted set of what was revoked, by when (ms on this store's clock)
-- args     member, for how long an entry is kept (ms)
-- returns  {'ok', now_ms}
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%d', now_ms - tonumber(ARGV[2])))
redis.call('ZADD', KEYS[1], string.format('%d', now_ms), ARGV[1])
return { 'ok', now_ms }
