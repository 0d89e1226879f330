-- Gives a patron a seat, or hands its seat to a newer connection, and takes the chips of one numbered transfer.
-- args     patron, name, bot (1 | 0), node, connection ('' = nobody is there: the chips are driven on for whoever gave
--          them), n (0: no chips come), amount (minor units), take_back (1: only a seat that is there already | 0)
-- returns  {'ok', now_ms, stack, connection that held the seat before ('' none), 1 seated | 0}; a transfer decided before gives its
--          first answer, and the chips are not taken twice. Where they were taken, the patron has left since and every
--          seat is taken, that answer is still ok, without a seat: a refusal would give the money back as well.
--          Without a connection a seat stays as it is; where there is none, chips taken now have one that is away.
-- refusals UNKNOWN_TABLE | NOT_SEATED | TABLE_CLOSED | TABLE_FULL. With n the refusal is kept: the giver takes its money back.
local patron, connection, n, amount = ARGV[1], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local decided = n > 0 and redis.call('HMGET', TRANSFERS, 'in:' .. patron, 'in_answer:' .. patron)
local was_decided = decided and tonumber(decided[1] or '0') >= n
if was_decided and decided[2] ~= 'ok' then
  return { decided[2], now_ms }
end
local packed = redis.call('HGET', SEATS, patron)
local refusal = nil
if redis.call('EXISTS', TABLE) == 0 then
  refusal = 'UNKNOWN_TABLE'
elseif not packed and ARGV[8] == '1' then
  refusal = 'NOT_SEATED'
elseif not packed and (mode() == 'draining' or mode() == 'closed') then
  refusal = 'TABLE_CLOSED'
elseif not packed and redis.call('HLEN', SEATS) >= cmsgpack.unpack(field('limits')).seats_max then
  refusal = 'TABLE_FULL'
end
if was_decided and (refusal or (connection == '' and not packed)) then
  return { 'ok', now_ms, 0, '', 0 }
end
if refusal and n > 0 then
  redis.call('HSET', TRANSFERS, 'in:' .. patron, int(n), 'in_answer:' .. patron, refusal)
end
if refusal then
  return { refusal, now_ms }
end

local seat = packed and cmsgpack.unpack(packed)
if n > 0 and not was_decided then
  redis.call('HSET', TRANSFERS, 'in:' .. patron, int(n), 'in_answer:' .. patron, 'ok')
  redis.call('HINCRBY', TRANSFERS, 'in_total:' .. patron, int(amount))
  redis.call('HINCRBY', TABLE, 'bought_in', int(amount))
  enter({ 'buy_in', now_ms, patron, n, amount, redis.call('HINCRBY', STACKS, patron, int(amount)) })
end
if not seat then
  redis.call('HSETNX', STACKS, patron, 0)
  redis.call('ZADD', PLAYED, number_field('round'), patron)
end
local is_there, before = connection ~= '', ''
if is_there or not seat then
  redis.call('HSET', SEATS, patron, cmsgpack.pack({
    name = ARGV[2], bot = ARGV[3] == '1', node = ARGV[4], connection = connection, connected = is_there, at_ms = now_ms,
  }))
  touch()
end
if is_there then
  redis.call('ZREM', AWAY, patron)
  redis.call('SREM', LEAVING, patron)
  if not seat or not seat.connected then
    redis.call('HINCRBY', TABLE, 'connected', 1)
    redis.call('HSET', TABLE, 'last_join_at_ms', int(now_ms))
  elseif seat.connection ~= connection then
    before = seat.connection
    publish('seat', field('incarnation'), number_field('seq'), cmsgpack.pack({ patron, before }))
  end
elseif not seat then
  redis.call('ZADD', AWAY, int(now_ms), patron)
end
if field('phase') == 'idle' then
  nudge('seated')
end
return { 'ok', now_ms, tonumber(redis.call('HGET', STACKS, patron)), before, 1 }
