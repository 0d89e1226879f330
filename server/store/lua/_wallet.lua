-- What every script of a wallet shares. Put in front of each wallet script.
--
-- keys       1 the wallet: a hash with name, bot, token (SHA-256 of the guest's token), balance, put_in, and for each table
--            the transfers: out:T, out_amount:T, out_request:T, out_answer:T ('' while open), out_earlier:T (the closed ones
--            before it), in:T, and their totals;
--            taken_out (what the operator debited);
--            ledger (how many entries its ledger had), ledger_to:T and ledger_life:T (see project.lua)
--            2 the patron's own ledger: a stream, entry n-0 without gaps, some LEDGER_MAX kept
--            3 the rounds that the patron has played: a stream, some ROUNDS_MAX kept
--            4 what the operator did, by operation id; 5 those ids, the newest first (see operate_wallet.lua)
--            6 the patron's own limits (see limits.lua); 7 the log of operator acts: a stream, some OPERATED_MAX kept
-- A wallet that is not there is an error, never a new patron with a start balance.
local WALLET, LEDGER, ROUNDS, OPERATIONS, OPERATION_IDS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local LIMITS, OPERATED = KEYS[6], KEYS[7]
local LEDGER_MAX = 10000
local ROUNDS_MAX = 1000
local OPERATED_MAX = 10000

local function int(number)
  return string.format('%d', number)
end

local function field(name)
  return redis.call('HGET', WALLET, name)
end

local function number_field(name)
  return tonumber(field(name) or '0')
end

local function append(packed)
  redis.call('XADD', LEDGER, 'MAXLEN', '~', LEDGER_MAX, int(redis.call('HINCRBY', WALLET, 'ledger', 1)) .. '-0', 'entry', packed)
end

-- Counts the changes of the patron's limits; 0: there never were any.
local function limits_version()
  return tonumber(redis.call('HGET', LIMITS, 'version') or '0')
end

-- Enters a movement of the wallet's own money into the patron's ledger; called once for each, after the balance has moved.
-- kind       put_in | credited | debited | buy_in_given | buy_in_closed | buy_in_refused | cash_out_taken
-- amount     by which the balance grew (negative: shrank); table and n of a transfer ('' and 0 none); request ('' none)
local function enter(kind, amount, table, n, request)
  local time = redis.call('TIME')
  local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  append(cmsgpack.pack({ kind, now_ms, tonumber(amount), number_field('balance'), table, tonumber(n), request }))
end

-- Enters what an operator did to this patron into the log of operator acts.
local function note_act(by, verb, reason, details)
  local time = redis.call('TIME')
  redis.call('XADD', OPERATED, 'MAXLEN', '~', OPERATED_MAX, '*', 'at_ms', int(time[1] * 1000 + math.floor(time[2] / 1000)),
    'by', by, 'verb', verb, 'reason', reason, 'details', details)
end

local exists = redis.call('EXISTS', WALLET) == 1
