-- Takes the right to run a table: a fresh epoch for this node, where no other node's lease is alive.
-- args     node, lease_ms
-- returns  {'ok', now_ms, epoch, incarnation, seq, state, rules, closes_at_ms, closed_at_ms, run_id,
--           1 if a rollback of the store is still to be answered, 1 if another node was silent, and did not release it}
-- refusals UNKNOWN_TABLE | OWNED now_ms owner lease_until_ms
if redis.call('EXISTS', TABLE) == 0 then
  return { 'UNKNOWN_TABLE', now_ms }
end
local owner, lease_until_ms = field('owner'), number_field('lease_until_ms')
if owner ~= '' and owner ~= ARGV[1] and lease_until_ms > now_ms then
  return { 'OWNED', now_ms, owner, lease_until_ms }
end
local was_silent = owner ~= '' and owner ~= ARGV[1] and 1 or 0
local epoch = redis.call('HINCRBY', TABLE, 'epoch', 1)
redis.call('HSET', TABLE, 'owner', ARGV[1], 'schema', SCHEMA)
renew_lease(ARGV[2])
local kept = redis.call('HMGET', TABLE, 'incarnation', 'seq', 'state', 'rules', 'closes_at_ms', 'closed_at_ms', 'run_id', 'rollback')
return { 'ok', now_ms, epoch, kept[1], tonumber(kept[2]), kept[3], kept[4], tonumber(kept[5]), tonumber(kept[6]), kept[7],
  tonumber(kept[8] or '0'), was_silent }
