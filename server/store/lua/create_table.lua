-- Puts a table into the store unless it is there.
-- args     incarnation, state, rules, limits, phase, run_id, mode ('' open, as in operate_table.lua)
-- returns  {'ok', now_ms, 1 created | 0 was there}
if redis.call('EXISTS', TABLE) == 1 then
  return { 'ok', now_ms, 0 }
end
redis.call('HSET', TABLE, 'schema', SCHEMA, 'incarnation', ARGV[1], 'state', ARGV[2], 'rules', ARGV[3],
  'limits', ARGV[4], 'phase', ARGV[5], 'run_id', ARGV[6], 'seq', 0, 'round', 0, 'epoch', 0, 'owner', '',
  'lease_until_ms', 0, 'connected', 0, 'touched', 0, 'closes_at_ms', 0, 'closed_at_ms', 0, 'shoe', 0, 'cut_round', 0,
  'bought_in', 0, 'cashed_out', 0, 'house', 0, 'ledger', 0, 'sealed_to', 0, 'projected_to', 0)
if ARGV[7] ~= '' then
  redis.call('HSET', TABLE, 'mode', ARGV[7], 'mode_reason', '')
end
return { 'ok', now_ms, 1 }
