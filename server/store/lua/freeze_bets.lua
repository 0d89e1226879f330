-- Ends the taking of bets: at the deadline, or before it where every connected seat is ready and nobody has just sat down.
-- From its return on no bet of this round can change, whatever the store's clock does. Run again it gives the same answer.
-- The instant of a close tells which acts counted, those before it: none is early in the millisecond of an act.
-- args     epoch, node, round, settle_in_ms (how long a new seat holds the early close back)
-- returns  {'ok', now_ms, closed_at_ms, 1 early | 0 timer, bettors, sum player, sum banker, sum tie}
-- refusals FENCED | ROUND_OVER | TOO_EARLY now_ms closes_at_ms
if is_fenced(ARGV[1], ARGV[2]) then
  return { 'FENCED', now_ms }
end
if field('round') ~= ARGV[3] or field('phase') ~= 'betting' then
  return { 'ROUND_OVER', now_ms }
end
local closes_at_ms, early = number_field('closes_at_ms'), field('closed_early') == ARGV[3]
if field('frozen_round') ~= ARGV[3] then
  if now_ms < closes_at_ms then
    local has_just_changed = now_ms <= number_field('acted_at_ms')
      or now_ms < number_field('last_join_at_ms') + tonumber(ARGV[4])
    if has_just_changed or not all_ready() then
      return { 'TOO_EARLY', now_ms, closes_at_ms }
    end
    closes_at_ms, early = now_ms, true
    redis.call('HSET', TABLE, 'closes_at_ms', int(now_ms), 'closed_early', ARGV[3])
  end
  redis.call('HSET', TABLE, 'frozen_round', ARGV[3])
end
local sums = redis.call('HMGET', TOTALS, 'player', 'banker', 'tie')
return { 'ok', now_ms, closes_at_ms, early and 1 or 0, redis.call('HLEN', BETS),
  tonumber(sums[1] or '0'), tonumber(sums[2] or '0'), tonumber(sums[3] or '0') }
