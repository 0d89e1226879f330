-- The commit that ends a round: like commit, and keeps the round's record (some ROUNDS_MAX of a table, the newest).
-- args     record (MessagePack, see server/table/history.py), then see check_commit in _table.lua, from 2
-- returns  {'ok', now_ms, seq}
-- refusals FENCED | INCARNATION | SEQ now_ms seq
local ROUNDS_MAX = 1000
local answer = check_commit(2)
if answer then
  return answer
end
local done = write_commit(2)
redis.call('XADD', ROUNDS, 'MAXLEN', '~', ROUNDS_MAX, ARGV[9] .. '-0', 'round', ARGV[1])
return done
