-- The commit that makes the open round void: like commit, and the only step that may be taken once it was asked for.
-- args     see check_commit in _table.lua, from 1
-- returns  {'ok', now_ms, seq}
-- refusals FENCED | INCARNATION | SEQ now_ms seq
return check_commit(1) or write_commit(1)
