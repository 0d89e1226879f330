-- Reads a page of a shoe's cuts, once they are frozen: those of the open shoe from its first close on, and of those that
-- have ended as long as they are kept. Reads only.
-- args     shoe, after (how many were read before), limit
-- returns  {'ok', now_ms, 1 more follow | 0, cut, ...}, each MessagePack [patron, cut, accepted_at_ms]
-- refusals UNKNOWN_TABLE | UNKNOWN_SHOE
local shoe, after, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
local kept = redis.call('HGET', SHOES, shoe .. ':cuts')
local is_frozen = field('shoe') == shoe and not (field('phase') == 'betting' and field('round') == field('cut_round'))
if not kept and not is_frozen then
  return { 'UNKNOWN_SHOE', now_ms }
end
local page, total = {}, 0
if kept then
  local all = cmsgpack.unpack(kept)
  total = #all
  for i = after + 1, math.min(after + limit, total) do
    page[#page + 1] = all[i]
  end
else
  total = redis.call('LLEN', CUTS)
  page = redis.call('LRANGE', CUTS, int(after), int(after + limit - 1))
end
return { 'ok', now_ms, after + #page < total and 1 or 0, unpack(page) }
