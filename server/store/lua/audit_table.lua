-- Adds up everything that a table holds, at one instant. Reads only.
-- returns  {'ok', now_ms, bought_in, cashed_out, house, sum of stacks, sum of open bets, transfers, cash-outs under way}
--          transfers: MessagePack {patron: [in_total, out_total]}; under way: MessagePack {patron: amount}, [] if none
-- refusals UNKNOWN_TABLE
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
local stacks, bets = 0, 0
for _, stack in ipairs(redis.call('HVALS', STACKS)) do
  stacks = stacks + tonumber(stack)
end
for _, packed in ipairs(redis.call('HVALS', BETS)) do
  for _, act in ipairs(cmsgpack.unpack(packed)) do
    for _, bet in ipairs(act) do
      bets = bets + bet[2]
    end
  end
end
local transfers, under_way = {}, {}
local function total(patron, place, amount)
  transfers[patron] = transfers[patron] or { 0, 0 }
  transfers[patron][place] = tonumber(amount)
end
local kept = redis.call('HGETALL', TRANSFERS)
for i = 1, #kept, 2 do
  local name, patron = string.match(kept[i], '^([^:]*):(.*)$')
  if name == 'in_total' then
    total(patron, 1, kept[i + 1])
  elseif name == 'out_total' then
    total(patron, 2, kept[i + 1])
  end
end
local outgoing = redis.call('HGETALL', OUTGOING)
for i = 1, #outgoing, 2 do
  under_way[outgoing[i]] = cmsgpack.unpack(outgoing[i + 1])[2]
end
return { 'ok', now_ms, number_field('bought_in'), number_field('cashed_out'), number_field('house'), stacks, bets,
  cmsgpack.pack(transfers), cmsgpack.pack(under_way) }
