-- Marks a seat as connected again, where its node was taken for dead while the connection lived on.
-- args     patron, node, connection
-- returns  {'ok', now_ms, 1 marked | 0 the seat is another connection's or was not away}
local packed = redis.call('HGET', SEATS, ARGV[1])
local seat = packed and cmsgpack.unpack(packed)
if not seat or seat.connected or seat.connection ~= ARGV[3] then
  return { 'ok', now_ms, 0 }
end
seat.connected, seat.node, seat.at_ms = true, ARGV[2], now_ms
redis.call('HSET', SEATS, ARGV[1], cmsgpack.pack(seat))
redis.call('HINCRBY', TABLE, 'connected', 1)
redis.call('ZREM', AWAY, ARGV[1])
touch()
return { 'ok', now_ms, 1 }
