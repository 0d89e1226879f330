-- Says up to which number a consumer has taken the ledger; one that is new has taken nothing, and trimming waits for it.
-- args     consumer
-- returns  {'ok', now_ms, number}
-- refusals UNKNOWN_TABLE
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
redis.call('HSETNX', CONSUMERS, ARGV[1], 0)
return { 'ok', now_ms, tonumber(redis.call('HGET', CONSUMERS, ARGV[1])) }
