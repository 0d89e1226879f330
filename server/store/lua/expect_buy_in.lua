-- Notes that a buy-in of a patron is about to be given, so that whoever looks later finds it, should nobody bring it here.
-- args     patron
-- returns  {'ok', now_ms}
-- refusals UNKNOWN_TABLE
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
redis.call('ZADD', INCOMING, int(now_ms), ARGV[1])
return { 'ok', now_ms }
