-- Keeps the owner's lease alive while nothing happens, and tells every hub the present seq, so that silence is noticed.
-- args     epoch, node, lease_ms
-- returns  {'ok', now_ms, touched, seats, connected, 1 if all connected seats are ready, last_join_at_ms,
--           1 if the operator has asked for the open round to be void, count of operator acts}
-- refusals FENCED
if is_fenced(ARGV[1], ARGV[2]) then
  return { 'FENCED', now_ms }
end
renew_lease(ARGV[3])
publish('alive', field('incarnation'), number_field('seq'), '')
return { 'ok', now_ms, number_field('touched'), redis.call('HLEN', SEATS), number_field('connected'),
  all_ready() and 1 or 0, number_field('last_join_at_ms'), is_void_asked() and 1 or 0, number_field('operated') }
