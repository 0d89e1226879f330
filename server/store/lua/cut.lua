-- Takes a patron's cut into the open shoe, once: until betting closes in the shoe's first round.
-- args     patron, connection, shoe, cut (8 to 32 bytes), cuts_max
-- returns  {'ok', now_ms, number (its place in the list, from 1), accepted_at_ms}; the same cut again gets the same answer
-- refusals UNKNOWN_TABLE | SHOE_OVER | NOT_SEATED | SEAT_TAKEN_OVER | ALREADY_CUT | CUTS_CLOSED | TOO_MANY_CUTS
local patron, connection, shoe, cut = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
if field('shoe') ~= shoe or redis.call('HEXISTS', SHOES, shoe) == 1 then
  return { 'SHOE_OVER', now_ms }
end
local number = redis.call('HGET', CUTTERS, patron)
local before = number and cmsgpack.unpack(redis.call('LINDEX', CUTS, tonumber(number) - 1))
if before and before[2] == cut then
  return { 'ok', now_ms, tonumber(number), before[3] }
end
local packed = redis.call('HGET', SEATS, patron)
if not packed then
  return { 'NOT_SEATED', now_ms }
end
if cmsgpack.unpack(packed).connection ~= connection then
  return { 'SEAT_TAKEN_OVER', now_ms }
end
if before then
  return { 'ALREADY_CUT', now_ms }
end
if field('round') ~= field('cut_round') or not is_betting_open() then
  return { 'CUTS_CLOSED', now_ms }
end
if redis.call('LLEN', CUTS) >= tonumber(ARGV[5]) then
  return { 'TOO_MANY_CUTS', now_ms }
end
local taken = redis.call('RPUSH', CUTS, cmsgpack.pack({ patron, cut, now_ms }))
redis.call('HSET', CUTTERS, patron, int(taken))
return { 'ok', now_ms, taken, now_ms }
