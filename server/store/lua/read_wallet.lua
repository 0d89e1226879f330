-- Reads a wallet. Reads only.
-- args     table ('' or one whose open buy-in is wanted)
-- returns  {'ok', balance, name, bot, token, n, amount}; n = 0: no buy-in is under way
-- refusals UNKNOWN_PATRON
if not exists then
  return { 'UNKNOWN_PATRON' }
end
local n, amount = 0, 0
if ARGV[1] ~= '' and field('out_answer:' .. ARGV[1]) == '' then
  n, amount = number_field('out:' .. ARGV[1]), number_field('out_amount:' .. ARGV[1])
end
return { 'ok', number_field('balance'), field('name'), field('bot'), field('token'), n, amount }
