-- Expects a patron's buy-in no longer, unless another one was announced since.
-- args     patron, expected_at_ms (as it was listed)
-- returns  {'ok', now_ms}
local expected_at_ms = redis.call('ZSCORE', INCOMING, ARGV[1])
if expected_at_ms and tonumber(expected_at_ms) <= tonumber(ARGV[2]) then
  redis.call('ZREM', INCOMING, ARGV[1])
end
return { 'ok', now_ms }
