-- Marks a seat as away when its connection is gone or does not follow the table any more. The late close of a connection that was taken over changes nothing.
-- args     patron, connection
-- returns  {'ok', now_ms, 1 marked | 0 the seat is not this connection's}
local packed = redis.call('HGET', SEATS, ARGV[1])
local seat = packed and cmsgpack.unpack(packed)
if not seat or not seat.connected or seat.connection ~= ARGV[2] then
  return { 'ok', now_ms, 0 }
end
seat.connected, seat.connection = false, '' -- whoever comes back joins again
redis.call('HSET', SEATS, ARGV[1], cmsgpack.pack(seat))
redis.call('HINCRBY', TABLE, 'connected', -1)
redis.call('SREM', READY, ARGV[1])
redis.call('ZADD', AWAY, int(now_ms), ARGV[1])
touch()
if all_ready() then
  nudge('ready')
end
return { 'ok', now_ms, 1 }
