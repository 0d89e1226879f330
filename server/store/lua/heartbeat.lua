-- Says that a node is alive, forgets nodes silent for too long, and lists those that live.
-- keys     1 punto:nodes: node id -> instant of its last sign, ms
-- args     node ('' only asks), silent_ms
-- returns  {'ok', now_ms, 1 the node was not in the register | 0, node, node, ...}
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local is_new = 0
if ARGV[1] ~= '' then
  is_new = redis.call('ZADD', KEYS[1], string.format('%d', now_ms), ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now_ms - tonumber(ARGV[2])))
local answer = { 'ok', now_ms, is_new }
for _, node in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  answer[#answer + 1] = node
end
return answer
