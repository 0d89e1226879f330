-- Notes which run of the store the table lives in. Where the store may have forgotten writes, seats know what it does not: the
-- incarnation changes with it, so that everybody starts from a snapshot, and the rollback stays noted until it is answered.
-- args     epoch, node, run_id, incarnation ('' keeps the present one), rollback (1 | 0)
-- returns  {'ok', now_ms}
-- refusals FENCED
if is_fenced(ARGV[1], ARGV[2]) then
  return { 'FENCED', now_ms }
end
redis.call('HSET', TABLE, 'run_id', ARGV[3], 'rollback', ARGV[5])
if ARGV[4] ~= '' then
  redis.call('HSET', TABLE, 'incarnation', ARGV[4], 'forgotten_at_ms', int(now_ms), 'forgotten_to', number_field('ledger'))
end
return { 'ok', now_ms }
