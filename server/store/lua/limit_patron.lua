-- Has a patron's own limits looked after at this table, from now on, and takes back what is granted and not used: until the
-- next grant the patron bets no more here. The turn that it answers with tells this call's grants from earlier ones.
-- args     patron, version (of the limits, as the wallet counts), excluded_until_ms
-- returns  {'ok', now_ms, day, turn, stake used, loss used}: since that day began, or since there are limits
-- refusals STALE (newer limits are looked after already)
local patron, version = ARGV[1], tonumber(ARGV[2])
local packed = redis.call('HGET', BETS, patron)
local lying = packed and sum_of(cmsgpack.unpack(packed)) or 0
local allowance = allowance_of(patron, lying)
if allowance and allowance.version > version then
  return { 'STALE', now_ms }
end
if not allowance then
  allowance = { day = math.floor(now_ms / DAY_MS), turn = 0, stake_used = lying, loss_used = lying }
end
allowance.version, allowance.turn, allowance.excluded_until_ms = version, allowance.turn + 1, tonumber(ARGV[3])
allowance.stake_granted, allowance.loss_granted, allowance.session_until_ms = allowance.stake_used, allowance.loss_used, 0
keep_allowance(patron, allowance)
return { 'ok', now_ms, allowance.day, allowance.turn, allowance.stake_used, allowance.loss_used }
