-- What every script of a wallet shares. Put in front of each wallet script.
--
-- keys       1 the wallet: a hash with name, bot, token (SHA-256 of the guest's token), balance, put_in, and for each table
--            the transfers: out:T, out_amount:T, out_request:T, out_answer:T ('' while open), in:T, and their totals
-- A wallet that is not there is an error, never a new patron with a start balance.
local WALLET = KEYS[1]

local function int(number)
  return string.format('%d', number)
end

local function field(name)
  return redis.call('HGET', WALLET, name)
end

local function number_field(name)
  return tonumber(field(name) or '0')
end

local exists = redis.call('EXISTS', WALLET) == 1
