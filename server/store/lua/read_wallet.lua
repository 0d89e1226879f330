-- Reads a wallet. Reads only.
-- args     table ('' or one whose open buy-in is wanted)
-- returns  {'ok', balance, name, bot, token, limits_version, n, amount, open}; n = 0: no buy-in is under way there; open: to
--          how many tables one is, counted where no table is named; limits_version = 0: the patron never had limits
-- refusals UNKNOWN_PATRON
if not exists then
  return { 'UNKNOWN_PATRON' }
end
local n, amount, open = 0, 0, 0
if ARGV[1] == '' then
  local kept = redis.call('HGETALL', WALLET)
  for i = 1, #kept, 2 do
    if kept[i + 1] == '' and string.find(kept[i], '^out_answer:') then
      open = open + 1
    end
  end
elseif field('out_answer:' .. ARGV[1]) == '' then
  n, amount = number_field('out:' .. ARGV[1]), number_field('out_amount:' .. ARGV[1])
end
return { 'ok', number_field('balance'), field('name'), field('bot'), field('token'), limits_version(), n, amount, open }
