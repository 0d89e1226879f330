-- Settles a chunk of patrons, each exactly once: a patron without an open bet is passed over, so a chunk may run again.
-- args     epoch, node, lease_ms, round, then for each patron four: patron, stake (sum of the open bet), payout, record
--          (MessagePack: round, outcome, bets, results; kept as the last round played)
-- returns  {'ok', now_ms, patrons settled by this call, bets left}
-- refusals FENCED | ROUND_OVER | STAKE_DIFFERS now_ms patron
-- All patrons of a chunk go into one command for each key: five commands for each patron took four times as long.
if is_fenced(ARGV[1], ARGV[2]) then
  return { 'FENCED', now_ms }
end
if field('round') ~= ARGV[4] or field('phase') ~= 'settling' then
  return { 'ROUND_OVER', now_ms }
end
local asked = {}
for i = 5, #ARGV, 4 do
  asked[#asked + 1] = ARGV[i]
end
local bets = #asked > 0 and redis.call('HMGET', BETS, unpack(asked)) or {}
local due, is_due, patrons = {}, {}, {}
for n, patron in ipairs(asked) do
  local i = 1 + 4 * n
  if bets[n] then
    if sum_of(cmsgpack.unpack(bets[n])) ~= tonumber(ARGV[i + 1]) then
      return { 'STAKE_DIFFERS', now_ms, patron }
    end
    if not is_due[patron] then -- a patron named twice in one chunk
      due[#due + 1], patrons[#patrons + 1], is_due[patron] = i, patron, true
    end
  end
end
if #due == 0 then
  renew_lease(ARGV[3])
  return { 'ok', now_ms, 0, redis.call('HLEN', BETS) }
end
local before = redis.call('HMGET', STACKS, unpack(patrons))
local paid, kept, stacks, last, played, results, entered = 0, 0, {}, {}, {}, {}, {}
for n, i in ipairs(due) do
  local patron, stake, payout, record = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]
  local allowance = allowance_of(patron, stake)
  if allowance then -- what comes back is no loss; a round that does not count was no stake either
    allowance.loss_used = allowance.loss_used - payout
    if not cmsgpack.unpack(record).outcome then
      allowance.stake_used = allowance.stake_used - stake
    end
    keep_allowance(patron, allowance)
  end
  local stack = tonumber(before[n] or '0') + payout
  paid, kept = paid + payout, kept + stake - payout
  stacks[2 * n - 1], stacks[2 * n] = patron, int(stack)
  last[2 * n - 1], last[2 * n] = patron, record
  played[2 * n - 1], played[2 * n] = ARGV[4], patron
  results[n] = { patron, stack, record }
  entered[n] = { patron, stake, payout, stack, record }
end
redis.call('HDEL', BETS, unpack(patrons))
redis.call('HSET', STACKS, unpack(stacks))
redis.call('HSET', LAST, unpack(last))
redis.call('ZADD', PLAYED, unpack(played))
redis.call('HINCRBY', TABLE, 'house', int(kept))
redis.call('HINCRBY', TABLE, 'paid', int(paid))
redis.call('HINCRBY', TABLE, 'settled', #due)
enter({ 'settle', now_ms, tonumber(ARGV[4]), kept, entered })
publish('results', field('incarnation'), number_field('seq'), cmsgpack.pack(results))
renew_lease(ARGV[3])
return { 'ok', now_ms, #due, redis.call('HLEN', BETS) }
