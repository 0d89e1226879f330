-- Says that seats were told more events than the table has: the store was set back. The incarnation changes at once, so that
-- the owner's next step is refused and it claims anew (it is nudged to), and the rollback stays noted until it is answered.
-- args     incarnation, seq (the newest event that was told), a fresh incarnation
-- returns  {'ok', now_ms, 1 noted | 0 the table has that event, or another life of its own}
if field('incarnation') ~= ARGV[1] or number_field('seq') >= tonumber(ARGV[2]) then
  return { 'ok', now_ms, 0 }
end
redis.call('HSET', TABLE, 'incarnation', ARGV[3], 'rollback', 1, 'forgotten_at_ms', int(now_ms),
  'forgotten_to', number_field('ledger'))
nudge('lost')
return { 'ok', now_ms, 1 }
