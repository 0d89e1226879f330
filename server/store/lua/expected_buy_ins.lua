-- Lists whose buy-ins were expected so long ago that whoever brought them must be done or gone. Reads only.
-- args     age_ms, limit
-- returns  {'ok', now_ms, patron, expected_at_ms, patron, expected_at_ms, ...}, the oldest first
local answer = { 'ok', now_ms }
local old = redis.call('ZRANGEBYSCORE', INCOMING, '-inf', int(now_ms - tonumber(ARGV[1])), 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #old, 2 do
  answer[#answer + 1] = old[i]
  answer[#answer + 1] = tonumber(old[i + 1])
end
return answer
