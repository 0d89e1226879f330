-- Lists cash-outs that are still under way, for whoever drives them on: any of them, each once. Reads only.
-- args     limit
-- returns  {'ok', now_ms, patron, n, amount, ...}
local answer = { 'ok', now_ms }
local open = redis.call('HRANDFIELD', OUTGOING, ARGV[1], 'WITHVALUES')
for i = 1, #open, 2 do
  local transfer = cmsgpack.unpack(open[i + 1])
  answer[#answer + 1] = open[i]
  answer[#answer + 1] = transfer[1]
  answer[#answer + 1] = transfer[2]
end
return answer
