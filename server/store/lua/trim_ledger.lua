-- Takes entries away that patrons have in their own ledgers and every consumer has taken: whole nodes of the stream, so up
-- to a hundred more may stay. Where nobody consumes the ledger all of it stays.
-- args     epoch, node, limit (entries at most)
-- returns  {'ok', now_ms, entries that lie there now}
-- refusals FENCED
if is_fenced(ARGV[1], ARGV[2]) then
  return { 'FENCED', now_ms }
end
local positions = redis.call('HVALS', CONSUMERS)
if #positions > 0 then
  local done = number_field('projected_to')
  for _, position in ipairs(positions) do
    done = math.min(done, tonumber(position))
  end
  redis.call('XTRIM', LEDGER, 'MINID', '~', int(done + 1) .. '-0', 'LIMIT', ARGV[3])
end
return { 'ok', now_ms, redis.call('XLEN', LEDGER) }
