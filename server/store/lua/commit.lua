-- One step of the owner: the new state and its events, published and kept in one act. A step repeated after a lost reply
-- is answered as done.
-- args     see check_commit in _table.lua, from 1
-- returns  {'ok', now_ms, seq}
-- refusals FENCED | INCARNATION | SEQ now_ms seq | VOID_ASKED now_ms (only void_round may follow) |
--          STAYS_OPEN now_ms (a close, where the operator has thought better of it, or somebody sits)
local answer = check_commit(1)
if answer then
  return answer
end
if is_void_asked() then
  return { 'VOID_ASKED', now_ms }
end
if ARGV[7] ~= 'closed' then
  return write_commit(1)
end
if (mode() ~= 'draining' and mode() ~= 'closed') or redis.call('HLEN', SEATS) > 0 then
  return { 'STAYS_OPEN', now_ms }
end
local done = write_commit(1)
redis.call('HSET', TABLE, 'mode', 'closed') -- one that was drained stays closed too
redis.call('HINCRBY', TABLE, 'operated', 1)
return done
