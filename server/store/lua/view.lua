-- Reads a table at one instant: its state, its crowd, and one patron's own seat. Reads only.
-- args     patron ('' none), seats_shown_max (0: no list of seats)
-- returns  {'ok', now_ms, incarnation, seq, state, rules, closes_at_ms, closed_at_ms, crowd, own}
--          crowd: MessagePack {seated, connected, ready, touched, totals: [p, b, t], bettors: [p, b, t], seats: [...] or
--          false}; own: '' or MessagePack {stack, ready, leaving, bets: layout, last: record of the last round played,
--          connection, cut: '' or the own cut into the open shoe, in hex}. An empty layout or record is an empty array.
-- refusals UNKNOWN_TABLE
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
local function unpacked(packed)
  return packed and cmsgpack.unpack(packed) or {}
end

local function own_cut(patron)
  local number = redis.call('HGET', CUTTERS, patron)
  local cut = number and cmsgpack.unpack(redis.call('LINDEX', CUTS, tonumber(number) - 1))[2] or ''
  return (string.gsub(cut, '.', function(byte)
    return string.format('%02x', string.byte(byte))
  end))
end

local kept = redis.call('HMGET', TABLE, 'incarnation', 'seq', 'state', 'rules', 'closes_at_ms', 'closed_at_ms',
  'connected', 'touched')
local sums = redis.call('HMGET', TOTALS, 'player', 'banker', 'tie', 'bettors:player', 'bettors:banker', 'bettors:tie')
for i = 1, 6 do
  sums[i] = tonumber(sums[i] or '0')
end
local seated = redis.call('HLEN', SEATS)
local seats = false
if seated <= tonumber(ARGV[2]) then
  seats = {}
  local all = redis.call('HGETALL', SEATS)
  for i = 1, #all, 2 do
    local seat = cmsgpack.unpack(all[i + 1])
    seats[#seats + 1] = { all[i], seat.name, seat.bot, seat.connected, redis.call('SISMEMBER', READY, all[i]) == 1,
      unpacked(redis.call('HGET', BETS, all[i])) }
  end
end
local crowd = cmsgpack.pack({ seated = seated, connected = tonumber(kept[7] or '0'), ready = redis.call('SCARD', READY),
  touched = tonumber(kept[8] or '0'), totals = { sums[1], sums[2], sums[3] }, bettors = { sums[4], sums[5], sums[6] },
  seats = seats })
local own = ''
local seat = ARGV[1] ~= '' and redis.call('HGET', SEATS, ARGV[1])
if seat then
  own = cmsgpack.pack({ stack = tonumber(redis.call('HGET', STACKS, ARGV[1]) or '0'),
    ready = redis.call('SISMEMBER', READY, ARGV[1]) == 1, leaving = redis.call('SISMEMBER', LEAVING, ARGV[1]) == 1,
    bets = unpacked(redis.call('HGET', BETS, ARGV[1])),
    last = unpacked(redis.call('HGET', LAST, ARGV[1])),
    connection = cmsgpack.unpack(seat).connection, cut = own_cut(ARGV[1]) })
end
return { 'ok', now_ms, kept[1], tonumber(kept[2]), kept[3], kept[4], tonumber(kept[5]), tonumber(kept[6]), crowd, own }
