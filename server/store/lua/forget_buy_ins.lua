-- Expects buy-ins no longer, each unless the same patron's was announced again since.
-- args     patron, expected_at_ms (as it was listed), and so on
-- returns  {'ok', now_ms}
for i = 1, #ARGV, 2 do
  local expected_at_ms = redis.call('ZSCORE', INCOMING, ARGV[i])
  if expected_at_ms and tonumber(expected_at_ms) <= tonumber(ARGV[i + 1]) then
    redis.call('ZREM', INCOMING, ARGV[i])
  end
end
return { 'ok', now_ms }
