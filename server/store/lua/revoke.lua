-- Notes that a token, or a patron's tokens so far, count no more, and sweeps out what no token can outlive.
-- keys     1 the sorted set of what was revoked, by when (ms on this store's clock)
--          2 the log of operator acts: a stream, some OPERATED_MAX kept
-- args     member, for how long an entry is kept (ms), by, reason, details
-- returns  {'ok', now_ms}
local OPERATED_MAX = 10000
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%d', now_ms - tonumber(ARGV[2])))
redis.call('ZADD', KEYS[1], string.format('%d', now_ms), ARGV[1])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', OPERATED_MAX, '*', 'at_ms', string.format('%d', now_ms), 'by', ARGV[3],
  'verb', 'revoke', 'reason', ARGV[4], 'details', ARGV[5])
return { 'ok', now_ms }
