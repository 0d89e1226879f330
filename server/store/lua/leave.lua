-- Takes a patron's seat away and starts the way of its stack back to the wallet, as the next numbered transfer. Where bets
-- lie, only notes that the patron wants to leave. A cash-out that is still under way must be driven on first.
-- The newest LEAVES_KEPT of a patron at this table are kept under their request_ids, and the same request again gets the
-- same answer. Where it comes over another connection that has taken the seat again meanwhile (a client that resumes
-- before it repeats), that seat is given up like any other.
-- args     patron, connection ('' = the house itself frees the seat), reason ('' | left | away | closed: the house's, looked at again here),
--          request_id ('' = the house's)
-- returns  {'ok', now_ms, 'gone', n, amount} (n = 0: nothing to carry) | {'ok', now_ms, 'after_round', 0, 0} |
--          {'ok', now_ms, 'stayed', 0, 0} (the patron came back before the house freed the seat) |
--          {'ok', now_ms, 'open', n, amount} (an earlier one: drive it on, then ask again)
-- refusals NOT_SEATED | SEAT_TAKEN_OVER
local LEAVES_KEPT = 16
local patron, connection, request_id = ARGV[1], ARGV[2], ARGV[4]
local open = redis.call('HGET', OUTGOING, patron)
if open then
  local transfer = cmsgpack.unpack(open)
  return { 'ok', now_ms, 'open', transfer[1], transfer[2] }
end
local packed = redis.call('HGET', SEATS, patron)
local seat = packed and cmsgpack.unpack(packed)
local kept = request_id ~= '' and redis.call('HGET', TRANSFERS, 'leaves:' .. patron)
local leaves = kept and cmsgpack.unpack(kept) or {}
for i, leave in ipairs(leaves) do
  if leave[1] == request_id then
    if leave[2] == connection or not seat or seat.connection ~= connection then
      return { 'ok', now_ms, leave[3], 0, 0 }
    end
    table.remove(leaves, i)
    break
  end
end
if not seat then
  return { 'NOT_SEATED', now_ms }
end
if connection ~= '' and seat.connection ~= connection then
  return { 'SEAT_TAKEN_OVER', now_ms }
end
local function keep(how)
  if request_id ~= '' then
    table.insert(leaves, 1, { request_id, connection, how })
    leaves[LEAVES_KEPT + 1] = nil
    redis.call('HSET', TRANSFERS, 'leaves:' .. patron, cmsgpack.pack(leaves))
  end
end
if (ARGV[3] == 'away' and seat.connected) or (ARGV[3] == 'left' and redis.call('SISMEMBER', LEAVING, patron) == 0)
  or (ARGV[3] == 'closed' and mode() ~= 'closed') then
  return { 'ok', now_ms, 'stayed', 0, 0 }
end
if redis.call('HEXISTS', BETS, patron) == 1 then
  redis.call('SADD', LEAVING, patron)
  keep('after_round')
  return { 'ok', now_ms, 'after_round', 0, 0 }
end
local amount, n = tonumber(redis.call('HGET', STACKS, patron) or '0'), 0
if amount > 0 then
  n = redis.call('HINCRBY', TRANSFERS, 'out:' .. patron, 1)
  redis.call('HINCRBY', TRANSFERS, 'out_total:' .. patron, int(amount))
  redis.call('HSET', OUTGOING, patron, cmsgpack.pack({ n, amount }))
  redis.call('HINCRBY', TABLE, 'cashed_out', int(amount))
  enter({ 'cash_out', now_ms, patron, n, amount, 0 })
end
keep('gone')
redis.call('HDEL', STACKS, patron)
redis.call('HDEL', SEATS, patron)
redis.call('SREM', READY, patron)
redis.call('SREM', LEAVING, patron)
redis.call('ZREM', AWAY, patron)
redis.call('ZREM', PLAYED, patron)
if seat.connected then
  redis.call('HINCRBY', TABLE, 'connected', -1)
end
touch()
if all_ready() then
  nudge('ready')
end
return { 'ok', now_ms, 'gone', n, amount }
