-- One step of the owner: the new state and its events, published and kept in one act. A step repeated after a lost reply
-- is answered as done.
-- args     see check_commit in _table.lua, from 1
-- returns  {'ok', now_ms, seq}
-- refusals FENCED | INCARNATION | SEQ now_ms seq | VOID_ASKED now_ms (only void_round may follow)
local answer = check_commit(1)
if answer then
  return answer
end
if is_void_asked() then
  return { 'VOID_ASKED', now_ms }
end
return write_commit(1)
