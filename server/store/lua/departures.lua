-- Lists who is to leave between two rounds, and who is to be warned. Reads only.
-- args     grace_ms, idle_rounds (0: never), limit
-- returns  {'ok', now_ms, patron, reason, patron, reason, ...}; reason: left | away | idle | closed | warn
local answer = { 'ok', now_ms }
local listed = {}
local function list(patrons, reason)
  for _, patron in ipairs(patrons) do
    if not listed[patron] and redis.call('HEXISTS', BETS, patron) == 0 then
      listed[patron] = true
      answer[#answer + 1] = patron
      answer[#answer + 1] = reason
    end
  end
end
local limit, idle_rounds, round = tonumber(ARGV[3]), tonumber(ARGV[2]), number_field('round')
list(redis.call('SRANDMEMBER', LEAVING, limit), 'left')
list(redis.call('ZRANGEBYSCORE', AWAY, '-inf', int(now_ms - tonumber(ARGV[1])), 'LIMIT', 0, limit), 'away')
if mode() == 'closed' then
  list(redis.call('HRANDFIELD', SEATS, limit), 'closed')
elseif idle_rounds > 0 then
  list(redis.call('ZRANGEBYSCORE', PLAYED, '-inf', int(round - idle_rounds), 'LIMIT', 0, limit), 'idle')
  local warned_at = int(round - idle_rounds + 1) -- one more round without a bet, and the seat is freed
  list(redis.call('ZRANGEBYSCORE', PLAYED, warned_at, warned_at, 'LIMIT', 0, limit), 'warn')
end
return answer
