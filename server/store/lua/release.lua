-- Gives the right to run a table back at once, so that the next owner need not wait for the lease to end,
-- and tells whoever stands ready.
-- args     epoch, node
-- refusals FENCED
if is_fenced(ARGV[1], ARGV[2]) then
  return { 'FENCED', now_ms }
end
redis.call('HSET', TABLE, 'owner', '', 'lease_until_ms', 0)
nudge('released')
return { 'ok', now_ms }
