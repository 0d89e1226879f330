-- Notes that every entry of the ledger up to a number is in its patrons' own ledgers; never moves back.
-- args     epoch, node, number, at_ms of that entry
-- returns  {'ok', now_ms}
-- refusals FENCED
if is_fenced(ARGV[1], ARGV[2]) then
  return { 'FENCED', now_ms }
end
if tonumber(ARGV[3]) > number_field('projected_to') then
  redis.call('HSET', TABLE, 'projected_to', ARGV[3], 'projected_at_ms', ARGV[4])
end
return { 'ok', now_ms }
