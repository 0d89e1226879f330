-- Forgets a cash-out that the wallet has taken.
-- args     patron, n
-- returns  {'ok', now_ms}
local open = redis.call('HGET', OUTGOING, ARGV[1])
if open and cmsgpack.unpack(open)[1] == tonumber(ARGV[2]) then
  redis.call('HDEL', OUTGOING, ARGV[1])
end
return { 'ok', now_ms }
