-- Lists the tables to which a buy-in of this wallet is under way. Reads only.
-- returns  {'ok', table, ...}
-- refusals UNKNOWN_PATRON
if not exists then
  return { 'UNKNOWN_PATRON' }
end
local answer = { 'ok' }
local kept = redis.call('HGETALL', WALLET)
for i = 1, #kept, 2 do
  local table = kept[i + 1] == '' and string.match(kept[i], '^out_answer:(.*)$')
  if table then
    answer[#answer + 1] = table
  end
end
return answer
