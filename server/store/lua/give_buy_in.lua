-- Starts a buy-in: debits the wallet and keeps {n, amount} until the table's answer is known. One at a time per table; the
-- same request again gives the same n, also after it was closed. The newest REQUESTS_KEPT requests at a table are known.
-- args     table, request_id, amount (minor units)
-- returns  {'ok', n, amount, answer}; answer '' = open: ask the table, then close it; else it was decided: do nothing more
-- refusals UNKNOWN_PATRON | REQUEST_REUSED (for another amount) | OPEN n amount (another one is under way: drive it on
--          first) | EXCLUDED (see limits.lua) | INSUFFICIENT_WALLET
if not exists then
  return { 'UNKNOWN_PATRON' }
end
local REQUESTS_KEPT = 16
local at, amount = ARGV[1], tonumber(ARGV[3])
local n, answer = number_field('out:' .. at), field('out_answer:' .. at)
if n > 0 and field('out_request:' .. at) == ARGV[2] then
  if number_field('out_amount:' .. at) ~= amount then
    return { 'REQUEST_REUSED' }
  end
  return { 'ok', n, number_field('out_amount:' .. at), answer }
end
local packed = field('out_earlier:' .. at)
local earlier = packed and cmsgpack.unpack(packed) or {} -- the newest first; all of them are closed
for _, request in ipairs(earlier) do
  if request[1] == ARGV[2] then
    if request[3] ~= amount then
      return { 'REQUEST_REUSED' }
    end
    return { 'ok', request[2], request[3], request[4] }
  end
end
if n > 0 and answer == '' then
  return { 'OPEN', n, number_field('out_amount:' .. at) }
end
local limits = redis.call('HGET', LIMITS, 'kept')
if limits then
  local kept, time = cmsgpack.unpack(limits), redis.call('TIME')
  if time[1] * 1000 + time[2] / 1000 < math.max(kept.own_excluded_until_ms, kept.house_excluded_until_ms) then
    return { 'EXCLUDED' }
  end
end
if number_field('balance') < amount then
  return { 'INSUFFICIENT_WALLET' }
end
if n > 0 then
  table.insert(earlier, 1, { field('out_request:' .. at), n, number_field('out_amount:' .. at), answer })
  earlier[REQUESTS_KEPT] = nil
  redis.call('HSET', WALLET, 'out_earlier:' .. at, cmsgpack.pack(earlier))
end
redis.call('HINCRBY', WALLET, 'balance', int(-amount))
redis.call('HSET', WALLET, 'out:' .. at, int(n + 1), 'out_amount:' .. at, int(amount), 'out_request:' .. at, ARGV[2],
  'out_answer:' .. at, '')
redis.call('HINCRBY', WALLET, 'out_total:' .. at, int(amount))
enter('buy_in_given', -amount, at, n + 1, ARGV[2])
return { 'ok', n + 1, amount, '' }
