-- Enters a node into the register where its settings agree with those of the store and of the nodes that live.
-- keys     1 punto:nodes   2 hash: node -> MessagePack {option: value}, '' -> what the store was opened with
-- args     node, silent_ms, options of the store and options of all nodes (MessagePack maps), 1 other nodes may differ | 0
-- returns  {'ok', now_ms}
-- refusals SETTINGS_DIFFER now_ms node ('' the store), option, its value there, ...: three for each difference
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local node, kept = ARGV[1], redis.call('HGET', KEYS[2], '')
local differences = { 'SETTINGS_DIFFER', now_ms }

local function compare(name, theirs, ours)
  for option, value in pairs(ours) do
    if theirs[option] ~= nil and theirs[option] ~= value then
      differences[#differences + 1] = name
      differences[#differences + 1] = option
      differences[#differences + 1] = theirs[option]
    end
  end
end

local of_store, of_nodes = cmsgpack.unpack(ARGV[3]), cmsgpack.unpack(ARGV[4])
local of_store_before = kept and cmsgpack.unpack(kept) or {}
compare('', of_store_before, of_store)
local silent = {}
local all = redis.call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  if all[i] ~= '' then
    local seen_at_ms = redis.call('ZSCORE', KEYS[1], all[i])
    if not seen_at_ms or tonumber(seen_at_ms) < now_ms - tonumber(ARGV[2]) then
      silent[#silent + 1] = all[i]
    elseif ARGV[5] ~= '1' then
      compare(all[i], cmsgpack.unpack(all[i + 1]), of_nodes)
    end
  end
end
if #differences > 2 then
  return differences
end
for _, gone in ipairs(silent) do
  redis.call('HDEL', KEYS[2], gone)
end
for option, value in pairs(of_store) do
  of_store_before[option] = value
end
redis.call('HSET', KEYS[2], '', cmsgpack.pack(of_store_before), node, ARGV[4])
redis.call('ZADD', KEYS[1], string.format('%d', now_ms), node)
return { 'ok', now_ms }
