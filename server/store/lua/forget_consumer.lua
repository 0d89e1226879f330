-- Waits for a consumer of the ledger no longer, because an operator says so.
-- args     consumer, by, reason (for people)
-- returns  {'ok', now_ms, 1 it was known | 0}
-- refusals UNKNOWN_TABLE
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
local was_known = redis.call('HDEL', CONSUMERS, ARGV[1])
if was_known == 1 then
  note_act(ARGV[2], 'forget', ARGV[3], 'consumer ' .. ARGV[1])
end
return { 'ok', now_ms, was_known }
