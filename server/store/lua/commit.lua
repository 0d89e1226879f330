-- One step of the owner: the new state and its events, published and kept in one act. A step repeated after a lost reply
-- is answered as done.
-- args     see check_commit in _table.lua, from 1
-- returns  {'ok', now_ms, seq}
-- refusals FENCED | INCARNATION | SEQ now_ms seq
return check_commit(1) or write_commit(1)
