-- Closes a buy-in by the table's answer: where the table refused, the money goes back into the wallet, once.
-- args     table, n, answer (ok | the table's refusal)
-- returns  {'ok', balance, limits_version}
-- refusals UNKNOWN_PATRON
if not exists then
  return { 'UNKNOWN_PATRON' }
end
local at = ARGV[1]
if field('out:' .. at) == ARGV[2] and field('out_answer:' .. at) == '' then
  redis.call('HSET', WALLET, 'out_answer:' .. at, ARGV[3])
  if ARGV[3] ~= 'ok' then
    local amount = number_field('out_amount:' .. at)
    redis.call('HINCRBY', WALLET, 'balance', int(amount))
    redis.call('HINCRBY', WALLET, 'out_total:' .. at, int(-amount))
    enter('buy_in_refused', amount, at, ARGV[2], field('out_request:' .. at))
  else
    enter('buy_in_closed', 0, at, ARGV[2], field('out_request:' .. at))
  end
end
return { 'ok', number_field('balance'), limits_version() }
