-- Takes the chips of one numbered cash-out, once.
-- args     table, n, amount (minor units)
-- returns  {'ok', balance}
-- refusals UNKNOWN_PATRON
if not exists then
  return { 'UNKNOWN_PATRON' }
end
local at, n = ARGV[1], tonumber(ARGV[2])
if n > number_field('in:' .. at) then
  redis.call('HSET', WALLET, 'in:' .. at, int(n))
  redis.call('HINCRBY', WALLET, 'in_total:' .. at, ARGV[3])
  redis.call('HINCRBY', WALLET, 'balance', ARGV[3])
  enter('cash_out_taken', ARGV[3], at, n, '')
end
return { 'ok', number_field('balance') }
