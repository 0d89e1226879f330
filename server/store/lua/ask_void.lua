-- Notes that the operator wants the open round void. From then on nothing else becomes of it: `commit` refuses every other
-- step, and the owner, or the next one, commits `void_round`. Asked again for the same round it gives the same answer.
-- args     round, reason ('' none), by
-- returns  {'ok', now_ms, seq after which the events tell how it went, 1 if a node owns the table now | 0}
-- refusals UNKNOWN_TABLE | ROUND_OVER now_ms round at the table | ROUND_DECIDED now_ms (settling has begun)
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
local is_owned = field('owner') ~= '' and number_field('lease_until_ms') > now_ms and 1 or 0
if field('void_round') == ARGV[1] then
  nudge('void')
  return { 'ok', now_ms, number_field('void_after_seq'), is_owned }
end
if field('round') ~= ARGV[1] then
  return { 'ROUND_OVER', now_ms, number_field('round') }
end
if not is_undecided() then
  return { 'ROUND_DECIDED', now_ms }
end
redis.call('HSET', TABLE, 'void_round', ARGV[1], 'void_reason', ARGV[2], 'void_after_seq', field('seq'))
note_act(ARGV[3], 'void', ARGV[2], 'round ' .. ARGV[1])
nudge('void')
return { 'ok', now_ms, number_field('seq'), is_owned }
