-- Copies entries of a table's ledger into the patron's own, each once and in order: the wallet keeps the highest number that
-- it has had of each table (ledger_to:T), so a chunk may come again, late, or from two nodes.
-- After a rollback the table's store gives numbers again. The table tells when that was noticed and which number it had then:
-- what the wallet had beyond it does not count as had (ledger_life:T), and a copy sent before the rollback comes too late.
-- args     table, forgotten_at_ms (0 never), forgotten_to, then for each entry three: number, line of the ledger, round played
--          ('' none)
-- returns  {'ok'}
-- refusals UNKNOWN_PATRON
if not exists then
  return { 'UNKNOWN_PATRON' }
end
local at, life = ARGV[1], tonumber(ARGV[2])
local had, life_had = number_field('ledger_to:' .. at), number_field('ledger_life:' .. at)
if life < life_had then
  return { 'ok' }
end
if life > life_had then
  had = math.min(had, tonumber(ARGV[3]))
end
for i = 4, #ARGV, 3 do
  local number = tonumber(ARGV[i])
  if number > had then
    had = number
    append(ARGV[i + 1])
    if ARGV[i + 2] ~= '' then
      redis.call('XADD', ROUNDS, 'MAXLEN', '~', ROUNDS_MAX, int(redis.call('HINCRBY', WALLET, 'rounds', 1)) .. '-0', 'entry', ARGV[i + 2])
    end
  end
end
redis.call('HSET', WALLET, 'ledger_to:' .. at, int(had), 'ledger_life:' .. at, int(life))
return { 'ok' }
