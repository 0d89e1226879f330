-- Begins a round: like commit, and clears what belonged to the rounds before (sums, readiness, requests of two rounds ago).
-- args     see check_commit in _table.lua, from 1
-- returns  {'ok', now_ms, seq}
-- refusals FENCED | INCARNATION | SEQ now_ms seq | BETS_LEFT now_ms (a bet of the last round is not settled yet) |
--          NOT_OPEN now_ms (the operator has paused or closed the table)
local answer = check_commit(1)
if answer then
  return answer
end
if redis.call('HLEN', BETS) > 0 then
  return { 'BETS_LEFT', now_ms }
end
if mode() == 'paused' or mode() == 'closed' then
  return { 'NOT_OPEN', now_ms }
end
local done = write_commit(1) -- first: the stream may still refuse an append that is out of order
redis.call('DEL', TOTALS, READY, REQUESTS[tonumber(ARGV[8]) % 2])
redis.call('HSET', TABLE, 'paid', 0, 'settled', 0)
return done
