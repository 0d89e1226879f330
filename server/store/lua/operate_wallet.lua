-- Puts money into a wallet or takes it out, as the operator says, once for each operation id: done or refused, the first
-- answer is kept and given again. The newest OPERATIONS_MAX of a wallet are kept. What is done is in the log of operator acts.
-- args     operation id, kind (credited | debited), amount (minor units), by, reason (for people)
-- returns  {'ok', balance after it, done_at_ms, 1 done now | 0 done before}
-- refusals UNKNOWN_PATRON | OPERATION_REUSED (another kind or amount), both not kept |
--          INSUFFICIENT_WALLET at_ms |
--          WALLET_TOO_FULL at_ms (the wallet would pass WALLET_MAX, or all that was ever put in AMOUNT_MAX)
local OPERATIONS_MAX = 1000
local AMOUNT_MAX = 9007199254740991
local WALLET_MAX = 1000000000000000 -- nine times that is below 2^53: room for what is won with it

if not exists then
  return { 'UNKNOWN_PATRON' }
end
local id, kind, amount = ARGV[1], ARGV[2], tonumber(ARGV[3])
local kept = redis.call('HGET', OPERATIONS, id)
if kept then
  local known_kind, known_amount, code, balance, at_ms = unpack(cmsgpack.unpack(kept))
  if known_kind ~= kind or known_amount ~= amount then
    return { 'OPERATION_REUSED' }
  elseif code == 'ok' then
    return { 'ok', balance, at_ms, 0 }
  end
  return { code, at_ms }
end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local code, counter, change = 'ok', 'put_in', amount
if kind == 'debited' then
  counter, change = 'taken_out', -amount
end
if number_field('balance') + change < 0 then
  code = 'INSUFFICIENT_WALLET'
elseif (change > 0 and number_field('balance') + change > WALLET_MAX) or amount > AMOUNT_MAX - number_field(counter) then
  code = 'WALLET_TOO_FULL'
end
if code == 'ok' then
  redis.call('HINCRBY', WALLET, 'balance', int(change))
  redis.call('HINCRBY', WALLET, counter, int(amount))
  enter(kind, change, '', 0, id)
  note_act(ARGV[4], kind, ARGV[5], int(amount) .. ', operation ' .. id)
end
local balance = number_field('balance')
redis.call('HSET', OPERATIONS, id, cmsgpack.pack({ kind, amount, code, balance, now_ms }))
redis.call('LPUSH', OPERATION_IDS, id)
while redis.call('LLEN', OPERATION_IDS) > OPERATIONS_MAX do
  redis.call('HDEL', OPERATIONS, redis.call('RPOP', OPERATION_IDS))
end
if code == 'ok' then
  return { 'ok', balance, now_ms, 1 }
end
return { code, now_ms }
