-- Notes what the operator wants of a table, with who wanted it and when; the owner, or the next one, sees to it.
-- args     by, verb (open | pause | resume | limits | drain | close | restored), mode ('' unchanged: open | paused | draining | closed),
--          reason (for people), 1 the open round is not to count | 0, rules ('' unchanged, '-' the house's again), details
-- returns  {'ok', now_ms, seq after which the events tell how it went, 1 if a node owns the table now | 0, round made void (0 none)}
-- refusals UNKNOWN_TABLE | TABLE_CLOSED (all but open) | TABLE_OPEN (open, of a table that is not closed)
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
local is_closed = mode() == 'closed'
if is_closed and ARGV[2] ~= 'open' then
  return { 'TABLE_CLOSED', now_ms }
end
if not is_closed and ARGV[2] == 'open' then
  return { 'TABLE_OPEN', now_ms }
end
local is_owned = field('owner') ~= '' and number_field('lease_until_ms') > now_ms and 1 or 0
local void_round = 0
if ARGV[5] == '1' and is_undecided() then
  void_round = number_field('round')
  redis.call('HSET', TABLE, 'void_round', int(void_round), 'void_reason', ARGV[4], 'void_after_seq', field('seq'))
end
if ARGV[3] ~= '' then
  redis.call('HSET', TABLE, 'mode', ARGV[3], 'mode_reason', ARGV[4])
end
if ARGV[6] == '-' then
  redis.call('HDEL', TABLE, 'own_rules')
elseif ARGV[6] ~= '' then
  redis.call('HSET', TABLE, 'own_rules', ARGV[6])
end
note_act(ARGV[1], ARGV[2], ARGV[4], ARGV[7])
nudge(void_round > 0 and 'void' or 'operated')
return { 'ok', now_ms, number_field('seq'), is_owned, void_round }
