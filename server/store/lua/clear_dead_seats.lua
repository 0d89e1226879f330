-- Marks the seats of nodes that are no longer alive as away, so that nobody waits for them.
-- args     fresh_ms (a seat taken so short a time ago is left alone: its node may be newer than the list), then the ids of
--          the live nodes
-- returns  {'ok', now_ms, seats marked}
local alive = {}
for i = 2, #ARGV do
  alive[ARGV[i]] = true
end
local marked = 0
local seats = redis.call('HGETALL', SEATS)
for i = 1, #seats, 2 do
  local seat = cmsgpack.unpack(seats[i + 1])
  if seat.connected and not alive[seat.node] and seat.at_ms < now_ms - tonumber(ARGV[1]) then
    seat.connected = false
    redis.call('HSET', SEATS, seats[i], cmsgpack.pack(seat))
    redis.call('HINCRBY', TABLE, 'connected', -1)
    redis.call('SREM', READY, seats[i])
    redis.call('ZADD', AWAY, int(now_ms), seats[i])
    marked = marked + 1
  end
end
if marked > 0 then
  touch()
end
return { 'ok', now_ms, marked }
