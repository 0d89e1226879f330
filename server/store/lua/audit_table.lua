-- Reads everything that a table holds, at one instant. Reads only.
-- returns  {'ok', now_ms, bought_in, cashed_out, house, stacks, open bets, transfers, cash-outs under way, ledger}
--          stacks, open bets, under way: MessagePack {patron: amount}; transfers: {patron: [in_total, out_total]}; [] if none;
--          ledger: its last entry, -1 where the table is older than its ledger
-- refusals UNKNOWN_TABLE
local LEDGER_SCHEMA = 2 -- from which on tables had a ledger when they were opened

if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
local stacks, bets = {}, {}
local chips = redis.call('HGETALL', STACKS)
for i = 1, #chips, 2 do
  stacks[chips[i]] = tonumber(chips[i + 1])
end
local layouts = redis.call('HGETALL', BETS)
for i = 1, #layouts, 2 do
  local sum = 0
  for _, act in ipairs(cmsgpack.unpack(layouts[i + 1])) do
    for _, bet in ipairs(act) do
      sum = sum + bet[2]
    end
  end
  bets[layouts[i]] = sum
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
local entered_to = number_field('schema') >= LEDGER_SCHEMA and number_field('ledger') or -1
return { 'ok', now_ms, number_field('bought_in'), number_field('cashed_out'), number_field('house'), cmsgpack.pack(stacks),
  cmsgpack.pack(bets), cmsgpack.pack(transfers), cmsgpack.pack(under_way), entered_to }
