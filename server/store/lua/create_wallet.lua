-- Opens a guest's wallet and puts its play money in, once.
-- args     name, bot (1 | 0), SHA-256 of the token (hex), play money (minor units)
-- returns  {'ok', balance}
-- refusals WALLET_EXISTS
if exists then
  return { 'WALLET_EXISTS' }
end
redis.call('HSET', WALLET, 'name', ARGV[1], 'bot', ARGV[2], 'token', ARGV[3], 'balance', ARGV[4], 'put_in', ARGV[4])
enter('put_in', ARGV[4], '', 0, '')
return { 'ok', tonumber(ARGV[4]) }
