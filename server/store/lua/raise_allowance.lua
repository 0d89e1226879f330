-- Lets a patron with limits go as far as the wallet has granted. Absolute sums, so it may come twice or late; one of an
-- earlier turn, day or version is refused: what it grants was taken back.
-- args     patron, version, day, turn, stake, loss, session_until_ms
-- returns  {'ok', now_ms}
-- refusals STALE
local packed = redis.call('HGET', BETS, ARGV[1])
local allowance = allowance_of(ARGV[1], packed and sum_of(cmsgpack.unpack(packed)) or 0)
if not allowance or allowance.version ~= tonumber(ARGV[2]) or allowance.day ~= tonumber(ARGV[3])
  or allowance.turn ~= tonumber(ARGV[4]) then
  return { 'STALE', now_ms }
end
allowance.stake_granted = math.max(allowance.stake_granted, tonumber(ARGV[5]))
allowance.loss_granted = math.max(allowance.loss_granted, tonumber(ARGV[6]))
allowance.session_until_ms = math.max(allowance.session_until_ms, tonumber(ARGV[7]))
keep_allowance(ARGV[1], allowance)
return { 'ok', now_ms }
