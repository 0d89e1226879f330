-- Settles a chunk of patrons, each exactly once: a patron without an open bet is passed over, so a chunk may run again.
-- args     epoch, node, lease_ms, round, then for each patron four: patron, stake (sum of the open bet), payout, record
--          (MessagePack: round, outcome, bets, results; kept as the last round played)
-- returns  {'ok', now_ms, patrons settled by this call, bets left}
-- refusals FENCED | ROUND_OVER | STAKE_DIFFERS now_ms patron
if is_fenced(ARGV[1], ARGV[2]) then
  return { 'FENCED', now_ms }
end
if field('round') ~= ARGV[4] or field('phase') ~= 'settling' then
  return { 'ROUND_OVER', now_ms }
end
local due, is_due = {}, {}
for i = 5, #ARGV, 4 do
  local packed = redis.call('HGET', BETS, ARGV[i])
  if packed then
    local stake = sum_of(cmsgpack.unpack(packed))
    if stake ~= tonumber(ARGV[i + 1]) then
      return { 'STAKE_DIFFERS', now_ms, ARGV[i] }
    end
    if not is_due[ARGV[i]] then -- a patron named twice in one chunk
      due[#due + 1], is_due[ARGV[i]] = i, true
    end
  end
end
local paid, kept, results, entered = 0, 0, {}, {}
for _, i in ipairs(due) do
  local patron, stake, payout = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local allowance = allowance_of(patron, stake)
  if allowance then -- what comes back is no loss; a round that does not count was no stake either
    allowance.loss_used = allowance.loss_used - payout
    if not cmsgpack.unpack(ARGV[i + 3]).outcome then
      allowance.stake_used = allowance.stake_used - stake
    end
    keep_allowance(patron, allowance)
  end
  redis.call('HDEL', BETS, patron)
  local stack = redis.call('HINCRBY', STACKS, patron, int(payout))
  redis.call('HSET', LAST, patron, ARGV[i + 3])
  redis.call('ZADD', PLAYED, ARGV[4], patron)
  paid, kept = paid + payout, kept + stake - payout
  results[#results + 1] = { patron, stack, ARGV[i + 3] }
  entered[#entered + 1] = { patron, stake, payout, stack, ARGV[i + 3] }
end
if #due > 0 then
  redis.call('HINCRBY', TABLE, 'house', int(kept))
  redis.call('HINCRBY', TABLE, 'paid', int(paid))
  redis.call('HINCRBY', TABLE, 'settled', #due)
  enter({ 'settle', now_ms, tonumber(ARGV[4]), kept, entered })
  publish('results', field('incarnation'), number_field('seq'), cmsgpack.pack(results))
end
renew_lease(ARGV[3])
return { 'ok', now_ms, #due, redis.call('HLEN', BETS) }
