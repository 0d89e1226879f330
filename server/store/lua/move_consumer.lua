-- Notes that a consumer has every entry up to a number; never moves back. A consumer that was forgotten stays so.
-- args     consumer, number
-- returns  {'ok', now_ms}
-- refusals NOT_SEALED (nobody takes what is not sealed yet)
if tonumber(ARGV[2]) > number_field('sealed_to') then
  return { 'NOT_SEALED', now_ms }
end
local position = redis.call('HGET', CONSUMERS, ARGV[1])
if position and tonumber(ARGV[2]) > tonumber(position) then
  redis.call('HSET', CONSUMERS, ARGV[1], ARGV[2])
end
return { 'ok', now_ms }
