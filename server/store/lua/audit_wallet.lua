-- Reads everything that a wallet has counted, at one instant. Reads only.
-- returns  {'ok', balance, put_in, taken_out, ledger, name, value, name, value, ...}; the names are those of the transfers in _wallet.lua
-- refusals UNKNOWN_PATRON
if not exists then
  return { 'UNKNOWN_PATRON' }
end
local answer = { 'ok', number_field('balance'), number_field('put_in'), number_field('taken_out'), number_field('ledger') }
local kept = redis.call('HGETALL', WALLET)
for i = 1, #kept, 2 do
  if string.match(kept[i], '^out_total:') or string.match(kept[i], '^in_total:')
    or string.match(kept[i], '^out_amount:') or string.match(kept[i], '^out_answer:') then
    answer[#answer + 1] = kept[i]
    answer[#answer + 1] = kept[i + 1]
  end
end
return answer
