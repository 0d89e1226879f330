-- Takes a node that stops out of the register, and tells the others at once, so that they take its places.
-- keys     1 punto:nodes: node id -> instant of its last sign, ms
--          2 {punto:nodes}:settings: node id -> the settings it runs by
-- args     node, the channel on which nodes are told (in the slot of the register)
-- returns  {'ok', now_ms}
local time = redis.call('TIME')
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('SPUBLISH', ARGV[2], cmsgpack.pack({ 'nodes', '', 0, '' }))
return { 'ok', time[1] * 1000 + math.floor(time[2] / 1000) }
